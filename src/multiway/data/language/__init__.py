"""Text for language modelling: read, checked, split, and cut into windows of tokens."""

from typing import TYPE_CHECKING

from multiway.data.language.checking import check_texts as check_texts
from multiway.data.language.looking import looks_like_text as looks_like_text
from multiway.data.language.options import TextOptions as TextOptions
from multiway.data.language.options import TextSplit as TextSplit
from multiway.data.language.options import TokenOptions as TokenOptions
from multiway.data.language.reading import read_documents as read_documents
from multiway.data.language.splitting import split_texts as split_texts
from multiway.data.language.texts import Texts as Texts
from multiway.data.language.texts import words_of as words_of
from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.data.language.prepared import PreparedText as PreparedText
    from multiway.data.language.prepared import TextCounts as TextCounts
    from multiway.data.language.prepared import match_texts as match_texts
    from multiway.data.language.prepared import prepare_texts as prepare_texts
    from multiway.data.language.state import LanguageState as LanguageState
    from multiway.data.language.tally import Tally as Tally
    from multiway.data.language.vocabulary import Vocabulary as Vocabulary
    from multiway.data.language.vocabulary import learn_vocabulary as learn_vocabulary
    from multiway.data.language.windows import NO_TARGET as NO_TARGET
    from multiway.data.language.windows import TokenWindows as TokenWindows

__getattr__ = lazily(__name__)
