/** What the processes of a gateway answer to a probe, joined into one answer. */
import { programVersion } from '#src/platform/log.ts';
import type { ReadRoleReadiness, RoleReadiness } from '../probes/role-readiness.ts';

/** `probe` sends the question; its answer comes to `receive`. */
export type Probed = { probe(id: number): void };

export type GatherReadiness = {
  read: ReadRoleReadiness;
  receive(id: number, readiness: RoleReadiness | undefined): void;
};

type GatherDeps = {
  role: RoleReadiness['role'];
  /** How many processes should serve. */
  count: number;
  serving(): readonly Probed[];
  isStopping(): boolean;
};

/** Longer than the checks of one process take (probes/role-readiness.ts). */
const waitMsMax = 9_000;

const fromWorst = ['unavailable', 'draining', 'starting', 'degraded', 'ok'] as const;

/** The members are those of the process that is worst off. Traffic may be sent here as long as one process is ready. */
export const createGatherReadiness = ({ role, count, serving, isStopping }: GatherDeps): GatherReadiness => {
  const waiting = new Map<number, (readiness: RoleReadiness | undefined) => void>();
  let asked = 0;
  const ask = async (process: Probed): Promise<RoleReadiness | undefined> => {
    asked += 1;
    const id = asked;
    const { promise, resolve } = Promise.withResolvers<RoleReadiness | undefined>();
    waiting.set(id, resolve);
    const timer = setTimeout(() => resolve(undefined), waitMsMax);
    process.probe(id);
    const readiness = await promise;
    clearTimeout(timer);
    waiting.delete(id);
    return readiness;
  };
  return {
    receive: (id, readiness) => waiting.get(id)?.(readiness),
    read: async () => {
      const processes = serving();
      const answers = (await Promise.all(processes.map(ask))).filter((one) => one !== undefined);
      const ready = answers.filter(({ status }) => status === 'ok' || status === 'degraded').length;
      const worst = answers.toSorted((a, b) => fromWorst.indexOf(a.status) - fromWorst.indexOf(b.status))[0];
      const isWhole = ready === count && answers.every(({ status }) => status === 'ok');
      return {
        ...worst,
        status: isStopping() ? 'draining' : ready === 0 ? 'unavailable' : isWhole ? 'ok' : 'degraded',
        role,
        version: programVersion,
        processes: processes.length < count ? 'missing' : 'ok',
        processes_ready: ready,
      };
    },
  };
};
