import { expect, test } from 'vitest';
import { createGroupCommit } from '#src/gateway/audit/record/group-commit.ts';

const longMs = 60_000;

/** Each `step` adds one answer that waits. */
const start = (gatherMs: number) => {
  let waiting = 0;
  let written = 0;
  const gathering = createGroupCommit(() => waiting, gatherMs);
  const step = (): void => {
    waiting += 1;
    gathering.added(waiting);
  };
  const write = async (): Promise<void> => {
    await gathering.wait();
    written += 1;
    gathering.written(waiting);
    waiting = 0;
  };
  return { step, write, written: () => written };
};

test('a single or first answer is never delayed', async () => {
  const { step, write, written } = start(longMs);
  for (let round = 0; round < 3; round += 1) {
    step();
    await write();
  }
  expect(written()).toBe(3);
});

test('after a statement for several answers, the next one runs as soon as as many answers wait, and not before', async () => {
  const { step, write, written } = start(longMs);
  for (let i = 0; i < 3; i += 1) step();
  await write();
  step();
  step();
  const next = write();
  await new Promise(setImmediate);
  expect(written()).toBe(1);
  step();
  await next;
  expect(written()).toBe(2);
});

test('as many answers as last time are not delayed', async () => {
  const { step, write, written } = start(longMs);
  for (let round = 0; round < 3; round += 1) {
    for (let i = 0; i < 5; i += 1) step();
    await write();
  }
  expect(written()).toBe(3);
});

test('fewer answers than last time are written after the longest delay', async () => {
  const { step, write, written } = start(2);
  for (let i = 0; i < 5; i += 1) step();
  await write();
  step();
  await write();
  expect(written()).toBe(2);
});
