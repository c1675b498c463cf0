/** Records allowed and refused requests in the audit. */
import type { Fault } from '#src/contract/fault.ts';
import type { Fingerprint } from '../audit/event/fingerprint.ts';
import type { Recorder } from '../audit/record/recorder.ts';
import type { SourceOf } from '../limits/source-address.ts';
import type { AllowedUse } from '../model/allowed-use.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import { TracedFault } from '../model/traced-fault.ts';
import type { Exchange, Step } from '../request/exchange.ts';
import type { Presented } from '../request/read-credential.ts';
import { callerOf, secretOf, strangerOf } from './audited-caller.ts';
import type { Authenticate } from './authenticate.ts';
import { createCountProbe } from './count-probe.ts';

export type RecordDecision = {
  /** The last step of a decision. */
  allow: Step;
  /** Called when an allowed request is answered or its client is gone: records it as allowed, unless it was refused meanwhile. */
  settle(exchange: Exchange): void;
  /**
   * Records a refusal by the gateway, or with `reason` by the service behind it. Undefined: nothing to wait for. Otherwise
   * it resolves when the refusal is written. Refusals that are no denials are only counted.
   */
  refuse(exchange: Exchange, fault: Fault, reason?: string): Promise<void> | undefined;
};

type RecordDecisionDeps = {
  recorder: Pick<Recorder, 'describe' | 'assertRoom' | 'allow' | 'countFailed' | 'recordRefusal'>;
  fingerprint: Fingerprint;
  sourceOf: SourceOf;
  /** For requests of operations that do not exist, whose credential the pipeline does not check. */
  authenticate: Authenticate;
};

/** The uses of one caller. Most callers call one route again and again, so the last route needs no lookup. */
type Noted = { route: Route; use: AllowedUse; others: Map<Route, AllowedUse> | undefined };

export const createRecordDecision = (deps: RecordDecisionDeps): RecordDecision => {
  const { recorder, fingerprint, sourceOf } = deps;
  const countProbe = createCountProbe(deps);
  // A caller object lives as long as the cached credential, so each fingerprint is made once.
  const fingerprints = new WeakMap<Principal, string>();
  const known = new WeakMap<Principal, Noted>();

  const fingerprintOf = (principal: Principal, presented: Presented | undefined): string | null => {
    const before = fingerprints.get(principal);
    if (before !== undefined) return before;
    const value = presented === undefined ? undefined : secretOf(presented);
    if (value === undefined) return null;
    const made = fingerprint(value);
    fingerprints.set(principal, made);
    return made;
  };

  const describe = (exchange: Exchange, principal: Principal, route: Route, address: string): AllowedUse =>
    recorder.describe({
      ...callerOf(principal),
      fingerprint: fingerprintOf(principal, exchange.presented),
      route_id: route.id,
      scopes: route.scopes,
      address,
    });

  const useOf = (exchange: Exchange, principal: Principal, route: Route): AllowedUse => {
    const address = sourceOf(exchange.req);
    let noted = known.get(principal);
    if (noted?.route === route && noted.use.group.shared.address === address) return noted.use;
    const before = noted?.others?.get(route);
    const use = before?.group.shared.address === address ? before : describe(exchange, principal, route, address);
    if (noted === undefined) {
      noted = { route, use, others: undefined };
      known.set(principal, noted);
    } else if (noted.route === route) noted.use = use;
    else if (use !== before) {
      noted.others ??= new Map();
      noted.others.set(route, use);
    }
    return use;
  };

  /** Counts an allowed request that the upstream answered with 4xx. A 5xx is a failure of the upstream, not of the caller. */
  const countFailed = (exchange: Exchange, allowed: AllowedUse, { code, status }: Fault): void => {
    if (status >= 500) return;
    exchange.allowed = undefined;
    const { group, fingerprint: held, token_id } = allowed;
    const details = JSON.stringify({ code, status });
    const failed = { action: 'request.allowed', reason: code.toLowerCase(), details } as const;
    recorder.countFailed({ ...group.shared, fingerprint: held, token_id, ...failed }, exchange.requestId);
  };

  return {
    allow: (exchange) => {
      const { principal, route } = exchange;
      if (principal === undefined || route === undefined)
        throw new Error('cannot record an allowed request without a caller and a route');
      recorder.assertRoom();
      exchange.allowed = useOf(exchange, principal, route);
    },
    settle: (exchange) => {
      const { allowed } = exchange;
      if (allowed === undefined) return;
      exchange.allowed = undefined;
      recorder.allow(allowed, exchange.requestId);
    },
    refuse: (exchange, fault, reason) => {
      const { allowed, principal, presented } = exchange;
      if (!isDecision(exchange, fault)) {
        if (allowed !== undefined) countFailed(exchange, allowed, fault);
        else countProbe(exchange, fault);
        return undefined;
      }
      exchange.allowed = undefined;
      const value = presented === undefined ? undefined : secretOf(presented);
      return recorder.recordRefusal({
        action: 'request.denied',
        outcome: 'failure',
        ...(principal === undefined ? strangerOf(presented, fault) : callerOf(principal)),
        reason: reason ?? reasonOf(fault),
        request_ids: [exchange.requestId],
        fingerprint: value === undefined ? null : fingerprint(value),
        route_id: exchange.route?.id ?? null,
        scopes: exchange.route?.scopes ?? [],
        address: sourceOf(exchange.req),
        details: detailsOf(fault, reason),
      });
    },
  };
};

/** Only the upstream gives a `reason`. */
const detailsOf = ({ code, status, extra }: Fault, reason: string | undefined): string =>
  JSON.stringify({
    code,
    status,
    missing_scopes: extra?.missing_scopes,
    ...(reason !== undefined && { by: 'upstream' }),
  });

const statuses: ReadonlySet<number> = new Set([401, 403, 429]);

/** A 400 is a decision only when the credential was wrong; wrong parameters are not. */
const isDecision = (exchange: Exchange, { status }: Fault): boolean =>
  exchange.route !== undefined &&
  (statuses.has(status) ||
    (status === 400 && exchange.principal === undefined && exchange.presented?.kind === 'refused'));

const reasonOf = (fault: Fault): string =>
  fault instanceof TracedFault ? fault.trace.reason : fault.code.toLowerCase();
