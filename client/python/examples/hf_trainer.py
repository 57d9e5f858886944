"""A callback of Hugging Face's Trainer that reports its progress:

    trainer = Trainer(..., callbacks=[SextantCallback(sequence_length=4096,
                                                      model_flops_per_token=4.2e11)])

Every sequence is taken to have `sequence_length` tokens, padding included, and every process to
have data of its own: with tensor, pipeline or sequence parallelism give `data_parallel_size`.
"""

from transformers import TrainerCallback

import sextant.progress


class SextantCallback(TrainerCallback):
    def __init__(self, sequence_length, data_parallel_size=None, **progress_arguments):
        self._sequence_length = sequence_length
        self._data_parallel_size = data_parallel_size
        self._progress_arguments = progress_arguments  # sextant.progress.Progress()'s
        self._progress = None

    def on_train_begin(self, args, state, control, **kwargs):
        # train_batch_size is of one process; a resumed run does not begin at step 0.
        self._step_tokens = (args.train_batch_size * args.gradient_accumulation_steps *
                             (self._data_parallel_size or args.world_size) * self._sequence_length)
        self._first_step = state.global_step
        self._progress = sextant.progress.Progress(
            **{"device_count": args.world_size, **self._progress_arguments})

    def on_step_end(self, args, state, control, **kwargs):
        steps = state.global_step - self._first_step
        self._progress.token_count = steps * self._step_tokens

    def on_train_end(self, args, state, control, **kwargs):
        self._progress.close()
