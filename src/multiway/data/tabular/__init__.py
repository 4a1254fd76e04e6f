"""Tables of rows: read, checked, split and encoded."""

from multiway.data.tabular.checking import check_table as check_table
from multiway.data.tabular.encoding import Encoding as Encoding
from multiway.data.tabular.options import TableOptions as TableOptions
from multiway.data.tabular.options import TableSplit as TableSplit
from multiway.data.tabular.reading import read_table as read_table
from multiway.data.tabular.splitting import split_table as split_table
from multiway.data.tabular.table import Columns as Columns
from multiway.data.tabular.table import Table as Table
