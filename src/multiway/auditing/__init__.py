"""Whether a split is honest: checks of plain arrays, whatever model or task they belong to."""

from multiway.auditing.agreement import check_agreement as check_agreement
from multiway.auditing.agreement import check_statistics as check_statistics
from multiway.auditing.duplicates import check_duplicates as check_duplicates
from multiway.auditing.duplicates import check_groups as check_groups
from multiway.auditing.duplicates import check_one_label as check_one_label
from multiway.auditing.duplicates import window_digests as window_digests
from multiway.auditing.lookup import check_lookup as check_lookup
from multiway.auditing.report import AuditReport as AuditReport
from multiway.auditing.report import Verdict as Verdict
from multiway.auditing.spans import Spans as Spans
from multiway.auditing.spans import check_complete as check_complete
from multiway.auditing.spans import check_order as check_order
from multiway.auditing.spans import check_overlap as check_overlap
from multiway.auditing.windows import WindowSplit as WindowSplit
from multiway.auditing.windows import audit_windows as audit_windows
