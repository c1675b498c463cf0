/** Settings of V8 for the memory of this program. */
import { setFlagsFromString } from 'node:v8';

/**
 * Call it once, before work begins. V8 watches which objects survive, and then allocates objects of the same place in the
 * code as old from the start. Its observations while a gateway starts, or while requests wait for a slow store, are wrong
 * for normal work: the objects of every request then pile up among the old ones and keep their young neighbours alive, and
 * garbage collection takes a fifth of the time of proxying.
 */
export const tuneMemory = (): void => setFlagsFromString('--no-allocation-site-pretenuring');
