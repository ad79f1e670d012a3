"""Whether a site takes part in a job: its people, its policy, and what its records were used for before."""
