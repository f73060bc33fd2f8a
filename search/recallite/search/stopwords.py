"""Function words that say nothing about what is looked for. Case-folded, one token each."""

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
STOP_WORDS = frozenset(" ".join((_ENGLISH, _GERMAN, _FRENCH, _SPANISH)).split())
