/** Whether traffic may be sent here, and what is worse than it should be. */
import type { KvHealth } from '#src/platform/kv/index.ts';

export type Readiness = {
  /** degraded: traffic may come, and somebody should look. */
  status: 'ok' | 'degraded' | 'unavailable';
  store: 'ok' | 'unavailable';
  shared_state: KvHealth;
  /** late: what is decided is not written; refusals and tokens wait for it. */
  audit: 'ok' | 'late';
};

type ReadinessDeps = {
  /** Rejects when the store cannot be reached. */
  checkStore: () => Promise<void>;
  sharedHealth: () => KvHealth;
  /** Seconds since the oldest event that is not written. */
  auditLag: () => number;
};

const checkTimeoutMs = 2_000;
/** An audit that writes is a fraction of a second behind. */
const lateSeconds = 5;

/** Never rejects, and answers within 2 s. Limits hold without the shared state, each process for itself. */
export const createReadiness =
  (deps: ReadinessDeps): (() => Promise<Readiness>) =>
  async () => {
    const store = (await reaches(deps.checkStore)) ? 'ok' : 'unavailable';
    const shared_state = deps.sharedHealth();
    const audit = deps.auditLag() > lateSeconds ? 'late' : 'ok';
    const isWorse = shared_state === 'down' || audit === 'late';
    return { status: store !== 'ok' ? store : isWorse ? 'degraded' : 'ok', store, shared_state, audit };
  };

const reaches = async (checkStore: () => Promise<void>): Promise<boolean> => {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('the store does not answer')), checkTimeoutMs);
  try {
    await Promise.race([checkStore(), late]);
    return true;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
};
