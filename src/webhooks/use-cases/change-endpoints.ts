/**
 * What changes endpoints and sends again, as functions: the operations of the interface and the panel call them. Each takes
 * the request that it is part of; `db` is the open transaction, except for checks and tests, which wait for the network.
 */
import type { Kysely } from 'kysely';
import { Fault, validationFault } from '#src/contract/fault.ts';
import { type EndpointAuth, sealAuth } from '../auth/endpoint-auth.ts';
import type { Endpoint, Viewer } from '../endpoints/endpoint.ts';
import { findEndpoint } from '../endpoints/endpoint-store.ts';
import {
  addEndpoint,
  type EndpointChanges,
  type EndpointsDeps,
  endOverlap,
  type NewEndpoint,
  type Rotation,
  removeEndpoint,
  rotateSecret,
  targetProblem,
  updateEndpoint,
} from '../endpoints/endpoints.ts';
import type { LoggedAttempt } from '../log/delivery-log-store.ts';
import { retentionMs } from '../queue/retention-period.ts';
import { type Redelivered, redeliverEvent, redeliverEvents, redeliverSpan, type Span } from '../redeliver/redeliver.ts';
import type { EventExample, TestEndpoint } from './test-endpoint.ts';

type ChangeEndpointsDeps = Pick<EndpointsDeps, 'box' | 'clock' | 'rules' | 'resolve' | 'signatureHeader'> & {
  testEndpoint: TestEndpoint;
};

type Request = { db: Kysely<unknown>; viewer: Viewer; now: Date };

/** One event, named events, or the events of a span. */
type RedeliverWanted = { endpointUid: string } & ({ eventId: string } | { eventIds: readonly string[] } | Span);

/** Addresses that are called: undefined where nothing changes. */
type Targets = { url?: string | undefined; auth?: EndpointAuth | null | undefined };

/** `auth`: null to remove it. */
export type WantedChanges = Omit<EndpointChanges, 'auth' | 'authShown'> & { auth?: EndpointAuth | null };

export type ChangeEndpoints = {
  /** Resolves the hosts of new addresses over the network. Throws VALIDATION_ERROR. */
  checkTargets(targets: Targets): Promise<void>;
  /** The same for an endpoint that exists; without one it resolves nothing. */
  checkTargetsOf(request: Omit<Request, 'now'>, uid: string, targets: Targets): Promise<void>;
  /** Adds an endpoint with checked values; the secret is shown once. Throws CONFLICT at the 21st of an owner, and VALIDATION_ERROR. */
  create(
    request: Request,
    endpoint: Omit<NewEndpoint, 'tenant'> & Required<Pick<NewEndpoint, 'kinds'>>,
  ): Promise<{ uid: string; secret: string }>;
  /** Throws NOT_FOUND and VALIDATION_ERROR. `check` refuses the change by throwing; it gets the endpoint of now, under its lock. */
  update(request: Request, uid: string, changes: WantedChanges, check?: (stored: Endpoint) => void): Promise<void>;
  /** Throws NOT_FOUND. */
  remove(request: Request, uid: string): Promise<void>;
  /** Returns the new secret. Throws NOT_FOUND, and CONFLICT while an overlap runs. */
  rotateSecret(request: Request, uid: string, rotation: Rotation): Promise<string>;
  /** Ends an overlap now. Throws NOT_FOUND. */
  finishRotation(request: Request, uid: string): Promise<void>;
  /** Sends one made-up event, or an example, and stores nothing. Throws NOT_FOUND and OVERLOADED. */
  test(request: Omit<Request, 'now'>, uid: string, signal: AbortSignal, example?: EventExample): Promise<LoggedAttempt>;
  /** Throws NOT_FOUND, CONFLICT, and VALIDATION_ERROR for a time beyond the retention. */
  redeliver(request: Request, wanted: RedeliverWanted): Promise<Redelivered>;
};

const noEndpoint = (): Fault => new Fault('NOT_FOUND', 'No such endpoint');

export const createChangeEndpoints = (deps: ChangeEndpointsDeps): ChangeEndpoints => {
  const checkTargets = async ({ url, auth }: Targets): Promise<void> => {
    const found = await Promise.all([
      url === undefined ? undefined : targetProblem(deps, url),
      auth?.type === 'oauth' ? targetProblem(deps, auth.tokenUrl, '/auth/token_url') : undefined,
    ]);
    const problems = found.filter((one) => one !== undefined);
    if (problems.length > 0) throw validationFault(problems);
  };
  return {
    checkTargets,
    checkTargetsOf: async ({ db, viewer }, uid, targets) => {
      if (targets.url === undefined && targets.auth?.type !== 'oauth') return;
      // The owner is checked first, so that requests of others resolve no names.
      if ((await findEndpoint(db, viewer, uid)) !== undefined) await checkTargets(targets);
    },
    create: async ({ db, viewer: { tenant } }, wanted) => {
      const { endpoint, secret } = await addEndpoint({ ...deps, db, kinds: wanted.kinds }, { ...wanted, tenant });
      return { uid: endpoint.uid, secret };
    },
    update: async ({ db, viewer, now }, uid, { auth, ...others }, check) => {
      const stored = check && (await findEndpoint(db, viewer, uid, { lock: true }));
      if (stored !== undefined) check?.(stored);
      const changes = { ...others, ...(auth === undefined ? undefined : sealAuth(deps.box, uid, auth)) };
      if ((await updateEndpoint(db, viewer, uid, changes, now, deps.signatureHeader)) === undefined) throw noEndpoint();
    },
    remove: async ({ db, viewer, now }, uid) => {
      if (!(await removeEndpoint(db, viewer, uid, now))) throw noEndpoint();
    },
    rotateSecret: async ({ db, viewer }, uid, rotation) => {
      const outcome = await rotateSecret({ ...deps, db }, viewer, uid, rotation);
      if (outcome === 'absent') throw noEndpoint();
      if (outcome === 'overlap_running')
        throw new Fault('CONFLICT', 'The old secret of the last rotation is still in use; end that with finish first');
      return outcome.secret;
    },
    finishRotation: async ({ db, viewer }, uid) => {
      if (!(await endOverlap(db, viewer, uid))) throw noEndpoint();
    },
    test: async ({ db, viewer }, uid, signal, example) => {
      const endpoint = await findEndpoint(db, viewer, uid);
      if (endpoint === undefined) throw noEndpoint();
      return deps.testEndpoint(endpoint, signal, example);
    },
    redeliver,
  };
};

const outcomeOf = ({ db, viewer, now }: Request, wanted: RedeliverWanted): ReturnType<typeof redeliverSpan> => {
  if ('since' in wanted) return redeliverSpan(db, viewer, wanted, now);
  return 'eventIds' in wanted ? redeliverEvents(db, viewer, wanted, now) : redeliverEvent(db, viewer, wanted, now);
};

const redeliver: ChangeEndpoints['redeliver'] = async ({ db, viewer, now }, wanted) => {
  if ('since' in wanted && wanted.since.getTime() < now.getTime() - retentionMs)
    throw validationFault([{ pointer: 'since', code: 'RANGE', message: 'must be at most 30 days ago' }]);
  const outcome = await outcomeOf({ db, viewer, now }, wanted);
  switch (outcome) {
    case 'no_endpoint':
      throw noEndpoint();
    case 'no_event':
      throw new Fault('NOT_FOUND', 'No such event of this endpoint');
    case 'withheld':
      throw new Fault('CONFLICT', 'The owner of the endpoint may not read these events now');
    case 'disabled':
      throw new Fault('CONFLICT', 'The endpoint is disabled; enable it first');
    case 'one_is_running':
      throw new Fault('CONFLICT', 'A redelivery to this endpoint is still being queued; wait until it is done');
    default:
      return outcome;
  }
};
