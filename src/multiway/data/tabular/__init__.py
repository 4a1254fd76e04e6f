"""Tables of rows: read, checked, split and encoded."""

from typing import TYPE_CHECKING

from multiway.data.tabular.arrays import joined_table as joined_table
from multiway.data.tabular.checking import check_table as check_table
from multiway.data.tabular.copies import column_codes as column_codes
from multiway.data.tabular.copies import copies_of_target as copies_of_target
from multiway.data.tabular.copies import row_digests as row_digests
from multiway.data.tabular.encoding import Encoding as Encoding
from multiway.data.tabular.looking import looks_like_rows as looks_like_rows
from multiway.data.tabular.looking import read_frame as read_frame
from multiway.data.tabular.options import TableOptions as TableOptions
from multiway.data.tabular.options import TableSplit as TableSplit
from multiway.data.tabular.permutation import permutation_importance as permutation_importance
from multiway.data.tabular.reading import read_table as read_table
from multiway.data.tabular.splitting import split_table as split_table
from multiway.data.tabular.table import Columns as Columns
from multiway.data.tabular.table import Table as Table
from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.data.tabular.prepared import PreparedTable as PreparedTable
    from multiway.data.tabular.prepared import match_table as match_table
    from multiway.data.tabular.prepared import prepare_table as prepare_table
    from multiway.data.tabular.samples import Samples as Samples

__getattr__ = lazily(
    __name__,
    {
        "multiway.data.tabular.prepared": ("PreparedTable", "match_table", "prepare_table"),
        "multiway.data.tabular.samples": ("Samples",),
    },
)
