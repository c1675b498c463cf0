/** What the gateway let through and what it refused, for the audit. */
import type { Fault } from '#src/contract/fault.ts';
import type { Fingerprint } from '../audit/fingerprint.ts';
import type { Allowed, AllowedUse } from '../audit/gather-allowed.ts';
import type { Recorder } from '../audit/recorder.ts';
import type { Route } from '../config.ts';
import type { Exchange, Step } from '../exchange.ts';
import type { SourceOf } from '../limits/source-address.ts';
import type { Principal } from '../principal.ts';
import type { Presented } from './read-credential.ts';
import { TracedFault } from './traced-fault.ts';

export type AuditDecisions = {
  /** The last step of a decision. */
  allow: Step;
  /** Undefined: nothing to write. Otherwise it resolves when the refusal is written. */
  refuse(exchange: Exchange, fault: Fault): Promise<void> | undefined;
};

type AuditDecisionsDeps = {
  recorder: Pick<Recorder, 'describe' | 'allow' | 'recordRefusal'>;
  fingerprint: Fingerprint;
  sourceOf: SourceOf;
};

/** What a caller does: most do one thing again and again, so the first route needs no look-up. */
type Noted = { route: Route; use: AllowedUse; others: Map<Route, AllowedUse> | undefined };

export const createAuditDecisions = ({ recorder, fingerprint, sourceOf }: AuditDecisionsDeps): AuditDecisions => {
  // A caller lives as long as what is remembered of its credential, so each fingerprint is made once.
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

  return {
    allow: (exchange) => {
      const { principal, route } = exchange;
      if (principal === undefined || route === undefined) throw new Error('nobody was let in, to nowhere');
      recorder.allow(useOf(exchange, principal, route), exchange.requestId);
    },
    refuse: (exchange, fault) => {
      if (!isDecision(exchange, fault)) return undefined;
      const { principal, presented } = exchange;
      const value = presented === undefined ? undefined : secretOf(presented);
      return recorder.recordRefusal({
        action: 'request.denied',
        outcome: 'failure',
        ...(principal === undefined ? strangerOf(presented, fault) : callerOf(principal)),
        reason: reasonOf(fault),
        request_ids: [exchange.requestId],
        fingerprint: value === undefined ? null : fingerprint(value),
        route_id: exchange.route?.id ?? null,
        scopes: exchange.route?.scopes ?? [],
        address: sourceOf(exchange.req),
        details: JSON.stringify({ code: fault.code, missing_scopes: fault.extra?.missing_scopes }),
      });
    },
  };
};

const statuses: ReadonlySet<number> = new Set([401, 403, 429]);

/** A 400 counts when it was the credential that was wrong; parameters are a matter of the service behind. */
const isDecision = (exchange: Exchange, { status }: Fault): boolean =>
  exchange.route !== undefined &&
  (statuses.has(status) ||
    (status === 400 && exchange.principal === undefined && exchange.presented?.kind === 'refused'));

const reasonOf = (fault: Fault): string =>
  fault instanceof TracedFault ? fault.trace.reason : fault.code.toLowerCase();

const secretOf = (presented: Presented): string | undefined => {
  switch (presented.kind) {
    case 'api_key':
      return presented.key;
    case 'client':
      return presented.secret;
    case 'bearer':
      return presented.token;
    default:
      return undefined;
  }
};

const callerOf = (
  principal: Principal,
): Pick<Allowed, 'kind' | 'credential_id' | 'token_id' | 'client_id' | 'tenants'> => ({
  kind: principal.kind,
  credential_id: principal.kind === 'bearer' ? null : principal.credentialId,
  token_id: principal.tokenId ?? null,
  client_id: principal.kind === 'api_key' ? null : principal.id,
  tenants: principal.tenants,
});

/** Whoever was not let in is named only when the gateway itself has found out who it is. */
const strangerOf = (presented: Presented | undefined, fault: Fault) => {
  const callerId = fault instanceof TracedFault ? fault.trace.callerId : null;
  const isKey = presented?.kind === 'api_key';
  return {
    kind: presented === undefined || presented.kind === 'none' || presented.kind === 'refused' ? null : presented.kind,
    credential_id: isKey ? callerId : null,
    client_id: isKey ? null : callerId,
  };
};
