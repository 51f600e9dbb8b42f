"""DIVE: images and their prompts, rated for harm by raters of 30 intersections."""

from __future__ import annotations

from plurivox.data.record import Counts, Dataset

DATASETS = (
    Dataset(
        name="dive",
        title="DIVE",
        question="How harmful is an image together with its prompt?",
        citation=(
            "Rastogi, Teh, Mishra, Patel, Wang, Díaz, Parrish, Davani, Ashwood, Paganini et al. (2025): Whose View of "
            "Safety? A Deep DIVE Dataset for Pluralistic Alignment of Text-to-Image Models. NeurIPS Datasets and "
            "Benchmarks."
        ),
        licence="CC BY 4.0, copyright 2025 Google LLC. The images and prompts may be harmful.",
        home="https://huggingface.co/datasets/neurips-dataset-1211/DIVE",
        scale="0 < 1 < 2 < 3 < 4",
        tables=(),
        downloads=(),
        counts=Counts(1_005, 707, 38_410, "data card: 1,000 prompts and 5 attention checks"),
        seen="neither a file nor a description of its columns was found",
        load=None,
        note="70 of the 707 raters are marked as of low quality. Read the file with read_ratings, naming its columns.",
    ),
)
