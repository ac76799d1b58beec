#!/usr/bin/env python3
"""Records the oracle's token ids of a corpus of texts: tests/data/tokenizer/NAME.json.

usage: make_tokenizer_corpus.py MODEL [--check]
       make_tokenizer_corpus.py --vocabulary NAME [--check]

The texts are chosen for the places where tokenizers part ways: runs of white space, controls,
contractions, digits, scripts without spaces, joiners, special tokens in text, bytes that are not
UTF-8 (such a text is recorded as the list of its bytes). `plain` are the ids where special tokens
stay text, if they differ. --vocabulary takes tests/data/tokenizer/NAME.json in place of a model's
tokenizer, with texts made at random from its tokens, with and without a space before the text, and
records NAME_ids.json. --check asks the oracle anew and compares with the recorded file instead of
writing it (exit 1 when they differ, 3 when the oracle is absent).
"""

import argparse
import json
import pathlib
import random
import sys
import tempfile

from oracles import LlamaOracle, Model, ROOT, Unresolved
from models import sha256_of
from vocabulary_gguf import write_vocabulary

DATA = ROOT / "tests" / "data" / "tokenizer"

REPORTED = [" Việt", "<s> word", "Café déjà vu — 123 😊"]  # ids that real engines got wrong

PROSE = r"""
Hello, world!
The capital of France is
The quick brown fox jumps over the lazy dog.
  leading spaces
trailing spaces  \n
What is gravity?
She said: "No -- never!" (and left).
Semi;colon:colon,comma.period!bang?question
a
 a
A
Z.
I
Mr. O'Neill's mother-in-law didn't pay €3.50/kg.
e.g. i.e. etc. vs. cf.
'single' "double" `back` ‘curly’ “quotes” «guillemets» „low“
em—dash en–dash hy-phen minus−sign ellipsis… dots...
#hashtag @mention $cash %percent ^caret &and *star
UPPERCASE lowercase MixedCase camelCase snake_case kebab-case SCREAMING_SNAKE
naïve façade résumé coöperate jalapeño Ångström smørrebrød
½ cup + ¾ tsp ≈ 1¼ … 5′ 10″ × 3² ÷ 2³
™ ® © § ¶ † ‡ • ° ¤
An unfinished thought,
...and so on, and so on; forever and ever.
((nested (parentheses)) [brackets] {braces} <angles>)
!!!??!?!...
----====____~~~~
"""

CONTRACTIONS = r"""
I'm you're he's she'd we'll they've don't
I'M YOU'RE HE'S SHE'D WE'LL THEY'VE DON'T
I'm'd've
it'S it's IT'S It's
'twas the night
rock 'n' roll
y'all'd've
'tis 's 't 're 've 'm 'll 'd
's't're've'm'll'd
'S 'T 'RE 'VE 'M 'LL 'D
 's 't 're
can’t won’t I’m (typographic)
dogs' bones
l'été, c'est l'heure d'aujourd'hui
x'sy x'ty x'rey
'ſ long s contraction
"""

NUMBERS = r"""
0
7
10
123
1234
12345
1234567890
3.14159265358979
-273.15
+1 (555) 010-9999
1,000,000.00
0xDEADBEEF 0b1010 0o755
1e-9 6.022E23 NaN inf
2024-02-29T23:59:59.999Z
192.168.0.1:8080
v1.2.3-rc.4+build.5
00000
1 2 3 4 5 6 7 8 9 10
a1b2c3 4d5e6f
١٢٣٤٥ ۱۲۳ १२३ ๑๒๓ 一二三 ①②③ Ⅳ ⅷ
𝟏𝟐𝟑 ¹²³ ₁₂₃
100% 50€ $9.99 £1 ¥100 ₹500
1st 2nd 3rd 4th
12/31/1999 31.12.1999
"""

CODE = r"""
int main() { return 0; }
for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; }
#include <vector>\n\nstd::vector<std::pair<int, float>> v{{1, 2.0f}};
def f(x: int = 3) -> str:\n    return f"{x!r:>10}"
\tif x:\n\t\tpass\n
SELECT * FROM t WHERE a <> 'b' -- comment
<div class="x">&nbsp;&amp;</div>
{"key": [1, 2, {"a": null}], "b": true}
a->b::c(*d, &e) != f << 3 >>= g;
/* block */ // line\n
fn main<'a>(x: &'a mut [u8]) -> Result<(), E> { Ok(()) }
$ echo "$HOME" | sed 's/\//_/g' > /dev/null 2>&1
x = y if z else w; lambda: ...
#!/usr/bin/env bash\nset -euo pipefail\n
\begin{equation} E = mc^2 \end{equation}
import numpy as np\nnp.zeros((3, 4))[1:, ::-1]
if(a&&b||!c){d?e:f}
        eight spaces indent\n    four\n  two\n one
template <typename T, std::size_t N> constexpr auto size(const T (&)[N]) noexcept { return N; }
0x7fffffffffffffffULL
key: value\n- item\n- item: {a: 1}\n
git commit -m "fix: don't crash (#123)"
C:\Users\Name\File.txt
/usr/local/lib/libfoo.so.1
foo_bar__baz___qux
====\n----\n****
"""

LINKS = r"""
https://example.com/a/b?c=d&e=f#g
http://user:pass@host.example:8080/path/to/file.tar.gz
mailto:someone@example.org
www.example.co.uk
ftp://[2001:db8::1]/x
https://例え.テスト/パス?クエリ=値
https://en.wikipedia.org/wiki/Caf%C3%A9
first.last+tag@sub.domain.example
"""

LANGUAGES = r"""
Le cœur a ses raisons que la raison ne connaît point.
Größe, Straße, Übermut und Äpfel; Donaudampfschifffahrtsgesellschaft
El niño comió piñas; ¿verdad? ¡Sí!
Não há coração são em São João.
Zażółć gęślą jaźń
Příliš žluťoučký kůň úpěl ďábelské ódy
Árvíztűrő tükörfúrógép
Iğdır'da ılık çay içtim; İstanbul
Þetta er íslenska með æ, ö og ð
Tiếng Việt có nhiều dấu: ắ ằ ẳ ẵ ặ ộ ở ữ
Привет, мир! Как дела?
Съешь же ещё этих мягких французских булок
Ђурђевдан је љетњи празник
Їжак з'їв яблуко
Γειά σου Κόσμε· τι κάνεις;
Բարեւ, աշխարհ
გამარჯობა მსოფლიო
שלום עולם, מה שלומך?
שָׁלוֹם עֲלֵיכֶם
مرحبا بالعالم، كيف حالك؟
اَلسَّلَامُ عَلَيْكُمْ
سلام دنیا، می‌خواهم بروم
یہ اردو ہے۔
नमस्ते दुनिया, आप कैसे हैं?
क्षत्रिय ज्ञान श्रीमान्
ধন্যবাদ বন্ধু
வணக்கம் உலகம்
నమస్కారం ప్రపంచం
ನಮಸ್ಕಾರ
നമസ്കാരം
ਸਤ ਸ੍ਰੀ ਅਕਾਲ
ආයුබෝවන්
สวัสดีชาวโลก ภาษาไทยไม่มีช่องว่าง
ສະບາຍດີ
မင်္ဂလာပါ
សួស្តី​ពិភពលោក
བཀྲ་ཤིས་བདེ་ལེགས།
ሰላም ልዑል
你好，世界！
今天天气很好，我们去公园散步吧。
繁體中文：龍龜鬱
𠮷野家 𩸽 𠀀
こんにちは世界
カタカナとひらがなと漢字とｶﾀｶﾅ
ガギグ ｶﾞｷﾞｸﾞ
안녕하세요 세계
ㅎㅎㅎ ㄱㄴㄷ
ᄒᆞᆫ글
Монгол ᠮᠣᠩᠭᠣᠯ
ᎣᏏᏲ ᏣᎳᎩ
ꦲꦏ꧀ꦱꦫ
Hello 世界 мир عالم दुनिया 🌍
abc中文def한국ghi
English עברית English عربى English
ﬁ ﬂ ﬀ ﬃ ﬄ ligatures
Ａｌｌ　ｆｕｌｌｗｉｄｔｈ　１２３
𝓗𝓮𝓵𝓵𝓸 𝕎𝕠𝕣𝕝𝕕 ℌ𝔢𝔩𝔩𝔬
∀x∈ℝ: ⌈x⌉ = −⌊−x⌋, ∑ᵢ xᵢ² ≤ ∞, ∫₀^π sin θ dθ = 2
α → β ⇒ γ ⟺ δ ∧ ¬ε
♠♥♦♣ ♔♕♖ ☀☁☂ ✓✗ ★☆
┌─┬─┐│ │├─┼─┤└─┴─┘ ░▒▓█
⠓⠑⠇⠇⠕ braille
"""

EMOJI = [
    "😊", "😀😃😄", "👍", "👍🏽", "👍🏿👍🏻", "👨‍👩‍👧‍👦", "👩‍💻 codes", "🏳️‍🌈", "🏴󠁧󠁢󠁳󠁣󠁴󠁿",
    "🇫🇷🇯🇵🇺🇳", "🇫", "❤️", "❤", "1️⃣2️⃣#️⃣", "☺️ vs ☺", "🤷🏾‍♀️", "🧑‍🤝‍🧑", "🙈🙉🙊", "x😊y", " 😊 ",
    "😊 123 😊", "🦄🫠🪿🫨", "⌚️⏰", "🀄🃏", "\u200d", "a\u200db", "\ufe0f", "🏻", "👩\u200d", "🤦‍♂️🤦‍♂️",
    "I ❤️ C++ 🚀🚀🚀!!!", "no\ufe0eemoji\ufe0e", "🇩🇪🇩🇪🇩", "👁️‍🗨️",
]  # fmt: skip

SPECIAL_TOKENS = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|im_start|>user\nHi<|im_end|>\n",
    "<|im_start|>system\nYou are helpful.<|im_end|>\n<|im_start|>user\nWhat is gravity?"
    "<|im_end|>\n<|im_start|>assistant\n",
    " <|im_start|> ", "a<|im_start|>b", "<|im_start|><|im_start|>", "<|im_start", "im_start|>",
    "<|IM_START|>", "<| im_start |>", "<|im_start|", "<<|im_start|>>", "<|im_end|>  <|im_end|>",
    "\n<|im_end|>\n", "text<|endoftext|>text", "<|im_start|>\u200d<|im_end|>", "<|unknown|>",
    "<|im_start|>assistant", "<repo_name>demo<file_sep>main.c", "<filename>x", "<gh_stars>",
    "<issue_start><issue_comment><issue_closed>", "<jupyter_start>", "<jupyter_text>a",
    "<jupyter_code>b", "<jupyter_output>c", "<jupyter_script>d", "<empty_output>", "<reponame>",
    "<s>", "</s>", "<unk>", "<pad>", "<bos><eos>", "[INST] hi [/INST]", "<|begin_of_text|>",
    "<|eot_id|>", "<|fim_prefix|>", "<fim_middle>", "<start_of_turn>user", "<think>hm</think>",
    "<|im_end|>'s", "1<|im_end|>2", "<|im_end|>\n\n", "<|im_start|>é",
]  # fmt: skip

SPACES = {
    "no-break": "\u00a0", "ogham": "\u1680", "en quad": "\u2000", "em": "\u2003", "thin": "\u2009",
    "hair": "\u200a", "zero width": "\u200b", "line": "\u2028", "paragraph": "\u2029",
    "narrow": "\u202f", "mathematical": "\u205f", "ideographic": "\u3000", "bom": "\ufeff",
    "next line": "\u0085", "mongolian": "\u180e",
}  # fmt: skip

WHITE_SPACE = [
    "", " ", "  ", "   ", "    ", " " * 7, " " * 8, " " * 9, " " * 15, " " * 16, " " * 17, " " * 33,
    " " * 64, " " * 200, "\t", "\t\t", "\t\t\t", "\t" * 9, "\n", "\n\n", "\n\n\n", "\n" * 8,
    "\n" * 20, "\r", "\r\n", "\r\n\r\n", "\r\r", "\n\r", "\v", "\f", "\v\f", " \n", "\n ", " \n ",
    "  \n  ", "\n \n \n", " \t ", "\t \t", "a b", "a  b", "a   b", "a    b", "a\tb", "a \tb",
    "a\t b", "a\nb", "a\n\nb", "a \nb", "a\n b", "a \n b", "a  \n\n  b", "a\r\nb", "a\r\n\r\nb",
    "a\rb", "  a", "a  ", "\ta", "a\t", "\na", "a\n", " a ", "  a  b  ", "a\n\n\n\nb\n\n\n",
    "\n\n  indented\n\n    more\n", "x =  1", "x  =   1", "1  2", "1   2", "!  !", "!   !", "a  !",
    "a  1", "a   é", "a  中", "é  é", "   \n\n\t\t  \r\n x", "end.  Two spaces.  Again.",
    "tab\tseparated\tvalues\n1\t2\t3\n", "trailing \n", "trailing\t\n", "   'quoted'", "a\v\fb",
    " \u00a0 ", "\u00a0\u00a0a", "a \u3000 b", "\u3000\u3000中",
]  # fmt: skip

MARKS = [
    "e\u0301", "e\u0301e\u0300e\u0302", "\u0301", " \u0301", "a\u0301\u0302\u0303\u0304b",
    "Zalgo: H\u0336\u0321e\u0335\u0322l\u0334\u0323l\u0337\u0324o\u0338\u0325", "n\u0303 vs ñ",
    "A\u030a vs Å vs Å", "\u1100\u1161\u11a8 vs 각", "\u0e01\u0e33", "\u0915\u094d\u0937",
    "\u200fRTL\u200e mark", "\u202eoverride\u202c", "soft\u00adhyphen", "word\u2060joiner",
    "\u200cnon\u200cjoiner", "9\u0301", "!\u0301", "\u20dd", "a\u20dd",
]  # fmt: skip

EDGES = [
    "\ue000 private", "\U000f0000", "\U0010ffff", "\ufffd", "\uffff", "\ufffe", "\ud7ff\ue000",
    "\u0378 unassigned", "\U0001fae9", "\x7f", "\x80\x9f", "\x00", "a\x00b", "\x00\x00\x00",
    "\x1b[31mred\x1b[0m", "\x01\x02\x03 \x04", "\x07bell\x08", "\x1c\x1d\x1e\x1f",
    "a" * 50, "a" * 300, "ab" * 100, "Z" * 65, "=" * 80, "-" * 100, "." * 37, "!" * 64, "é" * 40,
    "中" * 50, "😊" * 20, "0" * 70, "9" * 33, "ha" * 30, "\\" * 9, "/" * 16, "\"" * 5, "_" * 31,
    "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch",
    "pneumonoultramicroscopicsilicovolcanoconiosis",
    "Rindfleischetikettierungsüberwachungsaufgaben",
    "antidisestablishmentarianism" * 4, "thequickbrownfoxjumpsoverthelazydog",
    "aGVsbG8gd29ybGQsIHRoaXMgaXMgYmFzZTY0IQ==", "d41d8cd98f00b204e9800998ecf8427e",
    "550e8400-e29b-41d4-a716-446655440000", "xQzJkVwPq xqzjkvwpq XQZJKVWPQ",
    "Ġ Ċ ĉ Ā ġ", "Ġhello Ċ", "▁word▁piece", "##ing", "</w>", "<0x0A>", "\\n\\t\\u0041", "&#x41;",
]  # fmt: skip


SCORED = [  # where SentencePiece vocabularies part ways
    "▁", "▁▁", " ▁ ", "▁ ▁", "a▁b", "▁Hello", "Hello▁world", "▁" * 16, " ▁" * 5, "<0x41>", "<0x0a>", "<0xFF>",
    "<0x0A><0x0A>", "<bos>", "<bos><bos>", "<eos>", "<pad>x", "<mask>", "[multimodal]", "<unused0>",
    "<unused10><unused6241>", "<unused6242>", "<start_of_turn>user\nHi there!<end_of_turn>\n<start_of_turn>model\n",
    " <start_of_turn> user", "<end_of_turn>", "<start_of_image><end_of_image>", "<start_of_turn",
    "<table><tr><td>1</td></tr></table>", "<h1>Title</h1>", "<b>bold</b> and <i>it</i>", "</s></s>", "<s> a</s>",
    "\n" * 30, "\n" * 31, "\n" * 32, "\n" * 33, "\n" * 62, "\n" * 63, " " * 30, " " * 31, " " * 32, " " * 62, " " * 63,
    "a" + " " * 31 + "b", "a" + " " * 32 + "b", "\t" * 31, " \n  \n   \n", "> </", ">▁</div>", "x> </y> </z", "é ê", "中 文 字",
    "a" * 17 + "b" * 17, "abcabcabc" * 9, "\u2581\u0301", "１２３", "٣٤٥", "१२३",
]  # fmt: skip

INVALID = [
    b"\xff", b"\x80", b"\x80\x80\x80", b"\xc0\xaf", b"\xc1\x81", b"\xe2\x82", b"\xe2ab", b"\xe2 \x82\xac", b"\xe2\x82 x",
    b"\xf0\x9f\x98", b"\xf0\x9f\x98 hello", b"a\xffb", b"a\xff b", b"\xed\xa0\x80", b"\xc3", b"x\xc3<s>y",
    b"caf\xe9 au lait", b"Vi\xe1\xbb", b"Vi\xe1\xbbt", b"\xe2\x96 \x81", b"\xe2\x96\x81\x81\x96", b"\xfe\xffh\x00i",
    b"hello \xc3\x28 world", b"\xf0\x28\x8c\xbc", b"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", bytes(range(0x80, 0x100)),
]  # fmt: skip


def corpus():
    strings = list(REPORTED)
    for block in (PROSE, CONTRACTIONS, NUMBERS, CODE, LINKS, LANGUAGES):
        lines = (line.replace("\\n", "\n").replace("\\t", "\t") for line in block.split("\n"))
        strings += [line for line in lines if line]
    strings += EMOJI + SPECIAL_TOKENS + WHITE_SPACE + MARKS + EDGES
    for space in SPACES.values():
        strings += [space, f"a{space}b", f"a{space}{space} b{space}"]
    strings += [f"x{chr(code)}y" for code in [*range(0x20), 0x7F]]
    strings += ["1" * count for count in range(2, 12)]
    strings += [" " * count + "x" for count in range(1, 13)]
    strings += ["\n" * count + " " * (count % 3) + "x" for count in range(1, 8)]
    strings += SCORED
    return list(dict.fromkeys(strings)) + [list(text) for text in INVALID]


def texts_of(vocabulary):
    """Texts made of a vocabulary's tokens, their parts and their neighbours. The same every time."""
    choose = random.Random(1)
    parts = [token.replace("\u2581", " ") for token in vocabulary["tokens"][-58:] if token]
    parts += ["a", "b", "c", " ", " ", "  ", "\u2581", "<s>", "</s>", "<unk>", "\n", "ü", "😀", "q",
              "Z", "\0"]  # fmt: skip
    texts = ["", " ", "hello world", " hello world", "aaaaaaa", "abc", "1231 23", "worldwide", "<s>x",
             "ab ab"]  # fmt: skip
    for count in range(300):
        text = "".join(choose.choices(parts, k=1 + count % 12)).encode()
        if count % 4 == 0:  # cut inside a character, perhaps, or a byte changed
            at = choose.randrange(len(text))
            changed = b"" if count % 8 else bytes([choose.randrange(256)]) + text[at + 1 :]
            text = text[:at] + changed
        texts.append(text)
    return [as_recorded(text) for text in texts]


def as_recorded(text):
    if isinstance(text, str):
        return text
    try:
        return text.decode()
    except UnicodeDecodeError:
        return list(text)


def ask(oracle, path, texts):
    cases = []
    for text, ids, plain in zip(texts, oracle.tokenize(path, texts),
                                oracle.tokenize(path, texts, parse_special=False), strict=True):  # fmt: skip
        cases.append({"text": text, "ids": ids} | ({"plain": plain} if plain != ids else {}))
    return cases


def ask_about_model(oracle, name):
    model = Model(name)
    source = {"model": model.definition["file"], "model_sha256": model.check()}
    return source, {"cases": ask(oracle, model.path, corpus())}


def ask_about_vocabulary(oracle, name):
    path = DATA / f"{name}.json"
    data = json.loads(path.read_text())
    texts, lists = texts_of(data), {}
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "vocabulary.gguf"
        for prefix, key in ((True, "cases_with_space_prefix"), (False, "cases")):
            write_vocabulary(model, data | {"add_space_prefix": prefix})
            lists[key] = ask(oracle, model, texts)
    return {"vocabulary": path.name, "vocabulary_sha256": sha256_of(path)}, lists


def write(path, provenance, lists):
    parts = [f'"provenance": {json.dumps(provenance, indent=1)}']
    for key, cases in lists.items():
        lines = ",\n".join(" " + json.dumps(case) for case in cases)
        parts.append(f'"{key}": [\n{lines}\n]')
    path.write_text("{" + ",\n".join(parts) + "}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--vocabulary", metavar="NAME", help="of tests/data/tokenizer")
    parser.add_argument("--check", action="store_true", help="compare with the recorded file")
    arguments = parser.parse_args()
    if bool(arguments.model) == bool(arguments.vocabulary):
        parser.error("give a MODEL or a --vocabulary")

    oracle = LlamaOracle()
    if arguments.model:
        path, subject = DATA / f"{arguments.model}.json", arguments.model
        source, lists = ask_about_model(oracle, arguments.model)
    else:
        path, subject = DATA / f"{arguments.vocabulary}_ids.json", f"--vocabulary {arguments.vocabulary}"
        source, lists = ask_about_vocabulary(oracle, arguments.vocabulary)
    count = sum(map(len, lists.values()))
    if arguments.check:
        recorded = json.loads(path.read_text())
        wrong = sum(
            abs(len(recorded[key]) - len(cases)) + sum(a != b for a, b in zip(recorded[key], cases))
            for key, cases in lists.items()
        )
        print(f"{path.name}: {wrong} of {count} cases differ from the live oracle's")
        return 1 if wrong else 0
    provenance = {
        "oracle": "llama.cpp (llama_tokenize, add_special true, parse_special true; plain: false)",
        "version": oracle.version(),
        **source,
        "command": f"scripts/evidence/make_tokenizer_corpus.py {subject}",
    }
    write(path, provenance, lists)
    print(f"{count} cases written to {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Unresolved as reason:
        print(f"unresolved: {reason}")
        sys.exit(3)
