/** Opens the connections to the services behind the gateway, and what forwards requests and WebSockets over them. */
import type { Access, TableAccess } from '../access/open-access.ts';
import { honestStatus } from '../answer/legacy-status.ts';
import type { Answers } from '../answer/open-answers.ts';
import type { NoteDenial } from '../answer/write-answer.ts';
import { headAsGet, type RouteTable } from '../model/route.ts';
import { identityPolicyOf } from '../model/upstream-identity.ts';
import type { Exchange, Step } from '../request/exchange.ts';
import { type AddressState, stateOf } from './addresses/address-health.ts';
import { resolveUpstreams, type UpstreamSettings } from './addresses/resolve-upstreams.ts';
import type { SharedUpstreams } from './addresses/shared-upstreams.ts';
import { createForward } from './forward.ts';
import { createPassError } from './pass-error.ts';
import { createTranslateError } from './translate-errors.ts';
import type { Tunnels } from './tunnels.ts';
import { createUpgrades, type Upgrades } from './upgrade.ts';
import { createWatchOpen } from './watch-open.ts';

type UpstreamsDeps = {
  settings: UpstreamSettings & { upgrade_idle_ms: number; trusted_proxy_hops: number };
  origin: string;
  table: RouteTable;
  /** Name in the route table -> address, several separated by `|`. They win over addresses in the table. */
  upstreams: Readonly<Record<string, string>>;
  /** Callers name the trace that a request belongs to. */
  trustsTraces?: boolean;
  access: Pick<Access, 'decisions'> & Pick<TableAccess, 'recheckCaller' | 'identifyTo'>;
  answers: Answers;
  noteDenial: NoteDenial;
  answered: (exchange: Exchange, status: number) => void;
  /** See ForwardDeps. */
  repeated: (isAllowed: boolean) => void;
  sharedUpstreams: SharedUpstreams;
  tunnels: Tunnels;
};

type ShownAddress = { upstream: string; address: string; state: AddressState };

export type OpenUpstreams = {
  steps: Record<'forward', Step>;
  /** `steps`: the steps of kind `upgrade` (pipeline.ts). */
  openUpgrades: (steps: readonly Step[]) => Upgrades;
  /** Every address with its state. */
  addresses: () => ShownAddress[];
  close: () => Promise<void>;
};

export const openUpstreams = (deps: UpstreamsDeps): OpenUpstreams => {
  const { settings, origin, table, access, answers, noteDenial, answered } = deps;
  const { edgeHeaders, dialects, write, writeFault, writeHonestFault, statusFor } = answers;
  const { identifyTo, decisions } = access;
  const { settle, refuse: auditRefusal } = decisions;
  const upstreams = new Map(
    resolveUpstreams(table.upstreams, deps.upstreams, settings).map((options) => [
      options.name,
      deps.sharedUpstreams.take(options),
    ]),
  );
  const { protocol, host } = new URL(origin);
  const passedClaims = new Map(
    Object.entries(table.upstreams).map(([name, policy]) => [name, new Set(policy.passHeaders)]),
  );
  const tokenHeaders = new Map(
    Object.entries(table.upstreams)
      .map(([name, policy]) => [name, identityPolicyOf(name, policy.identity)] as const)
      .flatMap(([name, { kind, header }]) => (kind === 'jwt' ? [[name, header] as const] : [])),
  );
  const facts = {
    ...{ proto: protocol.slice(0, -1), host, trustsTraces: deps.trustsTraces ?? false },
    ...{ proxyHops: settings.trusted_proxy_hops, passedClaims, tokenHeaders },
  };
  const common = { write, noteDenial, auditRefusal, dialects, scopes: table.scopes.map(({ name }) => name) };
  const watchOpen = createWatchOpen(access.recheckCaller);
  const carrying = { upstreams, identifyTo, facts, edgeHeaders, settle, answered, watchOpen };
  return {
    steps: {
      forward: createForward({
        ...carrying,
        translate: createTranslateError({ ...common, writeFault, statusFor }),
        passError: createPassError({ noteDenial, auditRefusal }),
        writeFault,
        headAsGet: headAsGet(table.routes),
        repeated: deps.repeated,
      }),
    },
    openUpgrades: (steps) =>
      createUpgrades({
        ...carrying,
        steps,
        translate: createTranslateError({ ...common, writeFault: writeHonestFault, statusFor: honestStatus }),
        writeFault: writeHonestFault,
        tunnels: deps.tunnels,
        idleMs: settings.upgrade_idle_ms,
      }),
    addresses: () =>
      [...upstreams.values()].flatMap(({ name, addresses, failuresMax }) =>
        addresses.map(({ origin: address, health }) => ({
          upstream: name,
          address,
          state: stateOf(health, failuresMax),
        })),
      ),
    close: async () => {
      await Promise.all([...upstreams.values()].map(deps.sharedUpstreams.release));
    },
  };
};
