"""The page of a site: proposals and decisions, runs as they go, results, register, audits; for an analyst, studies.

What a person sees here comes from the same files, words and plots as the command line, and a decision becomes the same
signed vote. The page adds no power: whoever may run the commands of a site can do all of it without a browser.
"""
