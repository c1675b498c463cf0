/** Builds the parts of the public door and joins them; the only place that knows all of them. */
import type { Middleware } from 'koa';
import type { Kysely } from 'kysely';
import { createAssertionSigner, type SignAssertion } from '#src/contract/assertion.ts';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { isTransient } from '#src/platform/db/transaction.ts';
import type { KvHealth } from '#src/platform/kv/index.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { IdentifyCallerDeps } from './access/identify-caller.ts';
import { createRecordDecision } from './access/record-decision.ts';
import type { GatewaySettings, RouteTable } from './config.ts';
import { createCheckRequestHead } from './edge/check-request-head.ts';
import { createRequestIds } from './edge/request-id.ts';
import { createEdgeHeaders } from './edge/security-headers.ts';
import { createWriteAnswer, createWriteFault } from './edge/write-answer.ts';
import { storeUnavailable } from './faults.ts';
import { createFront, type Handler } from './front.ts';
import type { RateLimits } from './limits/rate-limits.ts';
import { createOwnPaths } from './own-paths.ts';
import { createPipeline } from './pipeline.ts';
import { compileRoutes } from './routing/route-table.ts';
import { createAssertIdentity, createSignFor } from './upstream/assert-identity.ts';
import { createForward } from './upstream/forward.ts';
import { createTranslateError } from './upstream/translate-errors.ts';
import { createUpstreams } from './upstream/upstreams.ts';
import { createAnswerSelf } from './whoami/answer-self.ts';
import type { DenialLog } from './whoami/denial-log.ts';

export type AssembleDeps = IdentifyCallerDeps & {
  settings: GatewaySettings;
  origin: string;
  table: RouteTable;
  upstreams: Readonly<Record<string, string>>;
  box: Pick<SecretBox, 'derive'>;
  clock: Clock;
  log: Logger;
  oauth: Middleware;
  limits: RateLimits;
  denials: Pick<DenialLog, 'note' | 'find'>;
  db: Kysely<unknown>;
  /** Of the state that gateways share. */
  sharedHealth: () => KvHealth;
  checkStore: () => Promise<void>;
};

export type PublicDoor = {
  handler: Handler;
  /** For the server's `checkContinue` event: a body is invited only when it is wanted. */
  continueHandler: Handler;
  close: () => Promise<void>;
};

export const assemble = (deps: AssembleDeps): PublicDoor => {
  const { settings, origin, table, log } = deps;
  const edgeHeaders = createEdgeHeaders(origin);
  const dialects = { origin, realm: settings.realm };
  const write = createWriteAnswer({ edgeHeaders });
  const noteDenial = deps.denials.note;
  const writeFault = createWriteFault({ write, dialects, toFault, log, noteDenial });
  const upstreams = createUpstreams(deps.upstreams, settings);
  const signFor = createSignFor({ signers: createSigners(deps) });
  const { protocol, host } = new URL(origin);
  const pipeline = createPipeline({
    routes: compileRoutes(table),
    authenticate: deps.authenticate,
    limits: deps.limits,
    answerSelf: createAnswerSelf({ db: deps.db, table, policies: deps.limits.policies, denials: deps.denials, write }),
    assertIdentity: createAssertIdentity(signFor),
    forward: createForward({
      upstreams,
      signFor,
      facts: { proto: protocol.slice(0, -1), host },
      edgeHeaders,
      translate: createTranslateError({
        write,
        writeFault,
        noteDenial,
        dialects,
        scopes: table.scopes.map(({ name }) => name),
      }),
      writeFault,
    }),
    write,
    writeFault,
  });
  const front = {
    requestIds: createRequestIds(),
    recordDecision: createRecordDecision({ log, nowMs: () => performance.now() }),
    checkRequestHead: createCheckRequestHead({
      urlBytesMax: settings.url_bytes_max,
      headerBytesMax: settings.header_bytes_max,
    }),
    ownPaths: createOwnPaths({
      oauth: deps.oauth,
      checkStore: deps.checkStore,
      sharedHealth: deps.sharedHealth,
      edgeHeaders,
      writeFault,
    }),
    pipeline,
    writeFault,
  };
  return {
    handler: createFront(front, false),
    continueHandler: createFront(front, true),
    close: async () => {
      await Promise.all([...upstreams.values()].map(({ pool }) => pool.destroy()));
    },
  };
};

const createSigners = ({ upstreams, box, clock }: AssembleDeps): Map<string, SignAssertion> => {
  const key = box.derive('assertion');
  const now = (): number => clock.now().getTime();
  return new Map(Object.keys(upstreams).map((audience) => [audience, createAssertionSigner({ key, audience, now })]));
};

/** A store that is away is worth a retry; anything else that is not a Fault is a defect. */
const toFault = (thrown: unknown): Fault | undefined => {
  if (thrown instanceof Fault) return thrown;
  return isTransient(thrown) ? storeUnavailable(thrown) : undefined;
};
