"""The one-file HTML report: pages of parts, parts of sections, one template."""

from multiway.report.page import render as render
from multiway.report.scores import Metric as Metric
from multiway.report.sections import Page as Page
from multiway.report.sections import PagePart as PagePart
