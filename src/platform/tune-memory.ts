/** Settings of V8 for the memory of this program. */
import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';

/**
 * Call it once, before work begins. V8 watches which objects survive, and then allocates objects of the same place in the
 * code as old from the start. Its observations while a gateway starts, or while requests wait for a slow store, are wrong
 * for normal work: the objects of every request then pile up among the old ones and keep their young neighbours alive, and
 * garbage collection takes a fifth of the time of proxying.
 */
export const tuneMemory = (): void => setFlagsFromString('--no-allocation-site-pretenuring');

/** chosen: on more cores than this one is likely to be free for the threads of V8. */
const fewCores = 2;

/**
 * Call it once, before work begins, in a process that does nothing but deliver webhooks. V8 marks live objects with four
 * threads beside the main one. Where few cores are busy, these take turns with it, and every delivery waits for a tenth of a
 * second every few seconds. The main thread marks in short steps instead. For the same reason it collects young objects
 * alone. It also marks less often: V8 starts when the old objects have about doubled, here when there are four times as many.
 * They are few in a worker, since its caches are bounded. After each of these times V8 would mark up to two times more, from
 * 100 s on and also during work, to free the memory of a program that has become quiet. A quiet worker keeps that memory.
 *
 * measured: `node test/bench/webhooks.ts latency` on two cores.
 */
export const tuneForFewCores = (): void => {
  if (availableParallelism() > fewCores) return;
  setFlagsFromString('--no-concurrent-marking');
  setFlagsFromString('--no-parallel-scavenge');
  setFlagsFromString('--heap-growing-percent=300');
  setFlagsFromString('--memory-reducer-gc-count=0');
};
