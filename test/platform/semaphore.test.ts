import { expect, test } from 'vitest';
import { createSemaphore, createSemaphores, createSharedSemaphore } from '#src/platform/sharing/semaphore.ts';

const never = new AbortController().signal;

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('at most so many callers hold the semaphore, later callers get it in their order, and callers beyond the queue are refused', async () => {
  const semaphore = createSemaphore({ atOnceMax: 1, waitingMax: 2, waitMsMax: 60_000 });
  const end = await semaphore.acquire(never);
  const came: string[] = [];
  const second = semaphore.acquire(never).then((done) => {
    came.push('second');
    return done;
  });
  const third = semaphore.acquire(never).then(() => came.push('third'));
  expect(await semaphore.acquire(never)).toBeUndefined();
  expect(came).toEqual([]);
  end?.();
  // A second release gives no other waiter the slot.
  end?.();
  const endSecond = await second;
  expect(came).toEqual(['second']);
  endSecond?.();
  await third;
  expect(came).toEqual(['second', 'third']);
});

test('who goes away or has waited too long leaves the queue to the others', async () => {
  const semaphore = createSemaphore({ atOnceMax: 1, waitingMax: 3, waitMsMax: 30 });
  const end = await semaphore.acquire(never);
  const gone = new AbortController();
  const left = semaphore.acquire(gone.signal);
  gone.abort();
  expect(await left).toBeUndefined();
  expect(await semaphore.acquire(gone.signal)).toBeUndefined();
  // The slot is never released, so this caller waits as long as the bound allows.
  expect(await semaphore.acquire(never)).toBeUndefined();
  end?.();
  expect(await semaphore.acquire(never)).toBeTypeOf('function');
});

test('names have semaphores of their own, and each release counts once', async () => {
  const semaphores = createSemaphores({ atOnceMax: 1, waitingMax: 1, waitMsMax: 60_000 });
  const end = await semaphores.acquire('one', never);
  expect(await semaphores.acquire('two', never)).toBeTypeOf('function');
  const next = semaphores.acquire('one', never);
  expect(await semaphores.acquire('one', never)).toBeUndefined();
  end?.();
  end?.();
  const endNext = await next;
  const last = semaphores.acquire('one', never);
  endNext?.();
  (await last)?.();
  expect(await semaphores.acquire('one', never)).toBeTypeOf('function');
});

test('what a name releases goes to the name that holds least, and in a full queue a name with more waiters loses its newest one', async () => {
  const shared = createSharedSemaphore({ atOnceMax: 2, waitingMax: 3, waitMsMax: 60_000 });
  const came: string[] = [];
  const ask = async (name: string, label: string): Promise<(() => void) | undefined> => {
    const end = await shared.acquire(name, never);
    came.push(end === undefined ? `${label} refused` : label);
    return end;
  };
  const [first, second] = [await ask('a', 'a1'), await ask('a', 'a2')];
  const third = ask('a', 'a3');
  void ask('a', 'a4');
  void ask('a', 'a5');
  await ask('a', 'a6');
  const other = ask('b', 'b1');
  await settled();
  expect(came).toEqual(['a1', 'a2', 'a6 refused', 'a5 refused']);
  first?.();
  const endOther = await other;
  expect(came.at(-1)).toBe('b1');
  // One each: the longest wait decides.
  endOther?.();
  await third;
  second?.();
  await settled();
  expect(came.slice(4)).toEqual(['b1', 'a3', 'a4']);
});

test('of names that hold the same, the one whose last turn is longest ago is next, however many of another one wait', async () => {
  const shared = createSharedSemaphore({ atOnceMax: 1, waitingMax: 10, waitMsMax: 60_000 });
  const came: string[] = [];
  const end = await shared.acquire('many', never);
  const served = ['many', 'many', 'many', 'few', 'few'].map(async (name) => {
    const release = await shared.acquire(name, never);
    came.push(name);
    await settled();
    release?.();
  });
  end?.();
  await Promise.all(served);
  expect(came).toEqual(['many', 'few', 'many', 'few', 'many']);
});

test('a name that holds as many as one name may waits, also while the rest is free, and others do not wait behind it', async () => {
  const shared = createSharedSemaphore({ atOnceMax: 3, eachMax: 2, waitingMax: 3, waitMsMax: 60_000 });
  const ends = [await shared.acquire('one', never), await shared.acquire('one', never)];
  let isThird = false;
  const third = shared.acquire('one', never).then((end) => {
    isThird = true;
    return end;
  });
  const endOther = await shared.acquire('other', never);
  endOther?.();
  await settled();
  expect(isThird).toBe(false);
  ends[0]?.();
  expect(await third).toBeTypeOf('function');
});
