"""Questions on real documentation from Debian packages: get the packages, check the questions, measure the answers.

examples/documentation-questions/README.md says what they are and how they were written.
"""
