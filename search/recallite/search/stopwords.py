"""Function words that say nothing about what is looked for. Case-folded, one token or some pairs of
characters each; English, German, French, Spanish, Chinese, Japanese, Korean.
"""

from __future__ import annotations

_ENGLISH = """
a about after all also am an and any are as at be because been before being between both but by can could did
do does doing done for from had has have having he her here him his how i if in into is it its just me my no
not of on or our out over she should so some such than that the their them then there these they this those
to under up us was we were what when where which while who whom whose why will with would you your
"""
_GERMAN = """
aber alle als am an auch auf aus bei beim bin bis das dass dem den der des die dies diese dieser dieses doch
du durch ein eine einem einen einer eines er es euer für gegen hab habe haben hat hatte ich ihr ihre im in
ist ja kann kein keine man mein meine mich mir mit nach nicht noch nur ob oder ohne seid sein seine sich sie
sind so über um und uns unser unter vom von vor war waren warum was wann welche welcher welches wem wen wenn
wer werden wie wir wird wo wurde wurden zu zum zur
"""
_FRENCH = """
à ai alors au aussi aux avait avec avoir avons c ce ces cet cette comme comment d dans de des donc du elle
elles en est et étaient était être eu il ils j je l la le les leur leurs lui m ma mais me mes moi mon n ne
nos notre nous on ont ou où par pas pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans
se ses si son sont sur t ta te tes toi ton tu un une vos votre vous y
"""
_SPANISH = """
a al algo como cómo con cual cuál cuáles cuando cuándo de del desde donde dónde e el él ella ellas ellos en
era eran es esa ese eso esta está están este esto estos fue fueron ha han hasta hay la las le les lo los más
me mi mis muy no nos o para pero por porque qué que quien quién quienes se ser si sí sin sobre son su sus
también te tiene tu tus un una unas uno unos y ya yo
"""
_CHINESE = """
什么 什麼 怎么 怎麼 怎样 怎樣 为什么 為什麼 为何 如何 哪里 哪裡 哪个 哪個 哪些 哪儿 哪一 谁的 是谁 誰的 是誰
多少 是否 是不是 有没有 有沒有 请问 請問 关于 關於 这个 這個 那个 那個 这些 這些 那些 我们 我們 你们 你們
他们 他們 以及 或者 还是 還是 但是 因为 因為 所以 如果 就是 都是 也是 时候 時候 什么时候 什麼時候
"""
_JAPANESE = """
です ます でした ました ません でしょう ください について という とは から まで より など この その あの どの
これ それ あれ どれ ここ そこ どこ いつ なに なぜ どう どんな どうやって だれ こと もの ため よう ような
している された される した する して いる ある なる 何ですか どこですか ですか ますか ましたか
"""
_KOREAN = """
무엇 무엇을 무엇이 무엇인가 무슨 어디 어디에 어디서 언제 누가 누구 어떻게 어떤 어느 왜요 얼마나 입니까 습니까
입니다 습니다 합니다 했습니다 있습니까 있습니다 있는 하는 그리고 그러나 하지만 또는 대한 대해 에서 에게 으로
까지 부터 우리 저는 나는 그것 이것 저것
"""
BY_LANGUAGE = {
    name: frozenset(words.split())
    for name, words in (("en", _ENGLISH), ("de", _GERMAN), ("fr", _FRENCH), ("es", _SPANISH))
}
STOP_WORDS = frozenset().union(*BY_LANGUAGE.values())
STOP_PAIRS = frozenset(
    word[at : at + 2] for word in " ".join((_CHINESE, _JAPANESE, _KOREAN)).split() for at in range(len(word) - 1)
)
"""The pairs of characters that such words of scripts without spaces are made of."""
