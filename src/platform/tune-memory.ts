/** What the JavaScript engine is told about this program's memory. */
import { setFlagsFromString } from 'node:v8';

/**
 * To be called once, before work begins. V8 watches which objects survive and then makes objects of the same place in the
 * code old from the start. What it sees while a gateway starts, or while requests wait for a slow store, is wrong for all
 * that follows: the objects of every request then pile up among the old ones, keep their young neighbours alive, and
 * collecting takes a fifth of the time that proxying takes.
 */
export const tuneMemory = (): void => setFlagsFromString('--no-allocation-site-pretenuring');
