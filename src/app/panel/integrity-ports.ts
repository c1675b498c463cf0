/** The port of the integrity page: verifications and signed heads of the audit. */
import {
  type Verification as GatewayVerification,
  kindOfAuditProblem,
  listHeads,
  listVerifications,
  startVerification,
} from '#src/gateway/index.ts';
import type { SecurityPorts, Verification } from '#src/panel/index.ts';
import type { PortDeps } from './port-deps.ts';

export const createIntegrityPorts = ({
  installation: { store, box, clock, log },
}: PortDeps): Pick<SecurityPorts, 'listVerifications' | 'startVerification' | 'listHeads'> => ({
  listVerifications: async (limit) =>
    (await listVerifications({ db: store.db, box, clock }, limit)).map(toVerification),
  startVerification: (by) => startVerification({ db: store.db, box, clock, log }, by),
  listHeads: async ({ before, limit }) =>
    (await listHeads(store.db, before, limit)).map(({ seq, ...head }) => ({ ...head, events: seq })),
});

const toVerification = ({ started, finished, problem, ...verification }: GatewayVerification): Verification => ({
  ...verification,
  started: new Date(started),
  finished: finished === null ? undefined : new Date(finished),
  problem:
    problem === null
      ? undefined
      : {
          place: problem.seq === null ? String(problem.chain) : `${problem.chain}-${problem.seq}`,
          kind: kindOfAuditProblem(problem.problem),
          upTo: /up to (\d+)/.exec(problem.problem)?.[1],
        },
});
