"""What a board's own log has given away: which labels the released answers already determine.

Nobody need attack: honest submissions and their scores are equations about the labels. Whoever holds the submissions
(the host, public notebooks, a coalition), the class totals and the released scores can solve them. A label is

* **determined** when a certificate in exact arithmetic says so (module ``certificate``),
* **open** when another labelling, checked in whole numbers, fits every answer (module ``witness``),
* determined **by a solver's word** when an integer programme finds no other labelling, in floats: said apart,
* **unknown** otherwise: time ran out.

Of a scorer of the user's own nothing is proved: labels are **likely** where a search that runs it finds them (module
``likely``), beside a placebo.
"""
