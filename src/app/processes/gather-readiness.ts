/** What the processes of a gateway answer to a probe, joined into one answer. */
import { programVersion } from '#src/platform/files/release.ts';
import type { ReadRoleReadiness, RoleReadiness } from '../probes/role-readiness.ts';
import { createQuestions } from './questions.ts';

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
  const questions = createQuestions<RoleReadiness>(waitMsMax);
  return {
    receive: questions.receive,
    read: async () => {
      const processes = serving();
      const answers = (await Promise.all(processes.map(({ probe }) => questions.ask(probe)))).filter(
        (one) => one !== undefined,
      );
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
