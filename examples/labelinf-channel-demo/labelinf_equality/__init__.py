"""A channel from outside: is the label of record i equal to that of record j?"""
