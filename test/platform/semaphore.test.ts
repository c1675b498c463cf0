import { expect, test } from 'vitest';
import { createTurns } from '#src/platform/semaphore.ts';

const never = new AbortController().signal;

test('so many have a turn at once, the others get theirs in the order of their coming, and too many get none', async () => {
  const turns = createTurns({ atOnceMax: 1, waitingMax: 2, waitMsMax: 60_000 });
  const end = await turns.take(never);
  const came: string[] = [];
  const second = turns.take(never).then((done) => {
    came.push('second');
    return done;
  });
  const third = turns.take(never).then(() => came.push('third'));
  expect(await turns.take(never)).toBeUndefined();
  expect(came).toEqual([]);
  end?.();
  // Ending a turn twice gives nobody another one.
  end?.();
  const endSecond = await second;
  expect(came).toEqual(['second']);
  endSecond?.();
  await third;
  expect(came).toEqual(['second', 'third']);
});

test('who goes away or has waited too long leaves the queue to the others', async () => {
  const turns = createTurns({ atOnceMax: 1, waitingMax: 3, waitMsMax: 30 });
  const end = await turns.take(never);
  const gone = new AbortController();
  const left = turns.take(gone.signal);
  gone.abort();
  expect(await left).toBeUndefined();
  expect(await turns.take(gone.signal)).toBeUndefined();
  // Nobody ends the turn, so this one waits for as long as anyone may.
  expect(await turns.take(never)).toBeUndefined();
  end?.();
  expect(await turns.take(never)).toBeTypeOf('function');
});
