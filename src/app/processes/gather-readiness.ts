/** What the processes of a gateway answer to a probe, joined into one answer. */
import { programVersion } from '#src/platform/files/release.ts';
import type { ReadRoleReadiness, RoleReadiness } from '../probes/role-readiness.ts';
import { createQuestions } from './questions.ts';

/** `probe` sends the question; its answer comes to `receive`. */
export type Probed = { pid: number; probe(id: number): void };

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

/** Longer than the checks of one process take (probes/role-readiness.ts), and short for a load balancer that waits. */
const waitMsMax = 2_500;

const fromWorst = ['unavailable', 'draining', 'starting', 'degraded', 'ok'] as const;

/** The members are those of the process that is worst off. Traffic may be sent here as long as one process is ready. */
export const createGatherReadiness = ({ role, count, serving, isStopping }: GatherDeps): GatherReadiness => {
  const questions = createQuestions<RoleReadiness>(waitMsMax);
  return {
    receive: questions.receive,
    read: async () => {
      const processes = serving();
      const asked = await Promise.all(
        processes.map(async ({ pid, probe }) => ({ pid, answer: await questions.ask(probe) })),
      );
      const answers = asked.flatMap(({ answer }) => answer ?? []);
      const silent = asked.filter(({ answer }) => answer === undefined).map(({ pid }) => pid);
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
        ...(silent.length > 0 && { processes_silent: silent }),
      };
    },
  };
};
