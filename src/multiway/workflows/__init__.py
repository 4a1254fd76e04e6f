"""What the command line does, as functions; whatever is particular to a task is in the task."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.config import Setting as Setting
    from multiway.config import read_yaml as read_yaml
    from multiway.data import CheckReport as CheckReport
    from multiway.data.datasets import catalogue as catalogue
    from multiway.data.datasets import fetch_dataset as fetch_dataset
    from multiway.data.datasets import list_datasets as list_datasets
    from multiway.data.findings import reading_once as reading_once
    from multiway.tasks.answers import Answer as Answer
    from multiway.tasks.lifecycle import load_run as load_run
    from multiway.tasks.lifecycle import load_runs as load_runs
    from multiway.tasks.registry import task_name as task_name
    from multiway.tasks.registry import task_of_data as task_of_data
    from multiway.tasks.registry import tasks_of_data as tasks_of_data
    from multiway.tasks.settings import TASKS as TASKS
    from multiway.tasks.settings import settings_of as settings_of
    from multiway.training.run_folder import run_folders as run_folders
    from multiway.workflows.looking import audit as audit
    from multiway.workflows.looking import audit_files as audit_files
    from multiway.workflows.looking import check as check
    from multiway.workflows.looking import make_lesions as make_lesions
    from multiway.workflows.looking import predict as predict
    from multiway.workflows.looking import report as report
    from multiway.workflows.recipe import Recipe as Recipe
    from multiway.workflows.recipe import load_recipe as load_recipe
    from multiway.workflows.recipe import recipe_names as recipe_names
    from multiway.workflows.smaller import Compressed as Compressed
    from multiway.workflows.smaller import compress as compress
    from multiway.workflows.space import Space as Space
    from multiway.workflows.space import load_space as load_space
    from multiway.workflows.space import space_names as space_names
    from multiway.workflows.training import Trained as Trained
    from multiway.workflows.training import resume as resume
    from multiway.workflows.training import train as train
    from multiway.workflows.tuning import Tuned as Tuned
    from multiway.workflows.tuning import tune as tune
    from multiway.workflows.using import anomalies as anomalies
    from multiway.workflows.using import backtest as backtest
    from multiway.workflows.using import compare as compare
    from multiway.workflows.using import evaluate as evaluate
    from multiway.workflows.using import explain as explain
    from multiway.workflows.using import update as update

__getattr__ = lazily(__name__)
