"""Bringing files back: scope → plan → journal → compare-and-swap → verify (design.md section 5, rules 2 to 6, 15, 16).

`scope` decides whose each differing path is, `plan` what a restore would do; both are pure. `swap` changes one path,
`apply` carries a plan out, `journal` remembers it, `recovery` settles what a crash left.
"""
