/** Tells whether traffic may be sent here, and which parts are degraded. */

import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import type { CertificateState } from '#src/platform/http/tls/open-certificate.ts';
import type { KvHealth } from '#src/platform/kv/index.ts';

export type Readiness = {
  /** degraded: traffic may be sent, and an operator should look. draining: the process is about to stop. */
  status: 'ok' | 'degraded' | 'draining' | 'unavailable';
  store: 'ok' | 'unavailable';
  /** failing: the store answers and refuses writes, as on a full disk, so no token is issued and nothing can be changed. */
  writes: 'ok' | 'failing';
  shared_state: KvHealth;
  /** late: decisions are not written in time, and refusals and tokens wait for it. */
  audit: 'ok' | 'late';
  /** not_renewed: new files of a certificate cannot be used, so the earlier one is served. Undefined: no TLS here. */
  certificate?: CertificateState | undefined;
  /** Version of the route table that is served; equal for equal tables. */
  routes_version: string;
  /** refused: the file was read again and cannot be used, so the earlier table is served. */
  routes_file: 'ok' | 'refused';
  /** missing: fewer processes serve than ORDERPASS_PROCESSES asks for. Undefined: one process. */
  processes?: 'ok' | 'missing' | undefined;
};

type ReadinessDeps = {
  isDraining: () => boolean;
  /** Rejects when the store cannot be reached. */
  checkStore: () => Promise<void>;
  /** Never rejects, and answers in less than 2 s. */
  checkWrites: () => Promise<'ok' | 'failing'>;
  sharedHealth: () => KvHealth;
  /** Seconds since the oldest event that is not written. */
  auditLag: () => number;
  certificateState: () => CertificateState | undefined;
  routes: () => { version: string; isRefused: boolean };
  processesState: () => Readiness['processes'];
};

const checkTimeoutMs = 2_000;
/** A working audit is a fraction of a second behind. */
const lateSeconds = 5;

/** Never rejects, and answers within little more than 2 s. Without shared state the limits hold in each process by itself. */
export const createReadiness =
  (deps: ReadinessDeps): (() => Promise<Readiness>) =>
  async () => {
    const [isReached, written] = await Promise.all([reaches(deps.checkStore), deps.checkWrites()]);
    const store = isReached ? 'ok' : 'unavailable';
    const writes = isReached ? written : 'failing';
    const shared_state = deps.sharedHealth();
    const audit = deps.auditLag() > lateSeconds ? 'late' : 'ok';
    const certificate = deps.certificateState();
    const { version: routes_version, isRefused } = deps.routes();
    const routes_file = isRefused ? 'refused' : 'ok';
    const processes = deps.processesState();
    const isLess = shared_state === 'down' || processes === 'missing';
    const isWorse = isLess || audit === 'late' || (certificate ?? 'ok') !== 'ok' || isRefused;
    const isAway = store !== 'ok' || writes !== 'ok';
    const status = deps.isDraining() ? 'draining' : isAway ? 'unavailable' : isWorse ? 'degraded' : 'ok';
    return { status, store, writes, shared_state, audit, certificate, processes, routes_version, routes_file };
  };

const reaches = async (checkStore: () => Promise<void>): Promise<boolean> => {
  try {
    await answerInTime(checkStore(), checkTimeoutMs);
    return true;
  } catch {
    return false;
  }
};
