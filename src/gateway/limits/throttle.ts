/** A bound on one kind of call per caller, shared by all gateways while Redis can be reached. */
import { createMemoryKv, type Kv, KvAway } from '#src/platform/kv/index.ts';

type ThrottleDeps = { kv: Kv; name: string; callsMax: number; windowSeconds: number };

/** Resolves to undefined when the call may go on (it is counted), else to the seconds until the next may. */
export type Throttle = (callerId: string) => Promise<number | undefined>;

/** `callerId` must be authenticated, since each one takes memory for a window. */
export const createThrottle = ({ kv, name, callsMax, windowSeconds }: ThrottleDeps): Throttle => {
  const options = { name: `throttle:${name}`, quota: callsMax, windowSeconds };
  const shared = kv.windows(options);
  const own = createMemoryKv().windows(options);
  const take = async (callerId: string): Promise<{ taken: boolean; msLeft: number }> => {
    try {
      return await shared.take(callerId, 1);
    } catch (error) {
      if (!(error instanceof KvAway)) throw error;
      return own.take(callerId, 1);
    }
  };
  return async (callerId) => {
    const { taken, msLeft } = await take(callerId);
    return taken ? undefined : Math.max(1, Math.ceil(msLeft / 1000));
  };
};
