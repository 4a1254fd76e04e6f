"""What the command line does, as functions; whatever is particular to a task is in the task."""

from multiway.workflows.auditing import audit as audit
from multiway.workflows.compression import Compressed as Compressed
from multiway.workflows.compression import compress as compress
from multiway.workflows.encoding import EncodedTexts as EncodedTexts
from multiway.workflows.encoding import encode as encode
from multiway.workflows.looking import check as check
from multiway.workflows.looking import fetch_dataset as fetch_dataset
from multiway.workflows.looking import list_datasets as list_datasets
from multiway.workflows.looking import make_lesions as make_lesions
from multiway.workflows.looking import task_of_data as task_of_data
from multiway.workflows.reproducing import list_recipes as list_recipes
from multiway.workflows.reproducing import reproduce as reproduce
from multiway.workflows.reproducing import task_of_recipe as task_of_recipe
from multiway.workflows.runs import load_runs as load_runs
from multiway.workflows.runs import run_folders as run_folders
from multiway.workflows.runs import task_name as task_name
from multiway.workflows.training import Trained as Trained
from multiway.workflows.training import resume as resume
from multiway.workflows.training import train as train
from multiway.workflows.using import backtest as backtest
from multiway.workflows.using import compare as compare
from multiway.workflows.using import evaluate as evaluate
from multiway.workflows.using import explain as explain
from multiway.workflows.using import predict as predict
from multiway.workflows.using import report as report
