/** What the operations of this feature need besides the request, and the rights of the caller. */
import type { Kysely } from 'kysely';
import type { AssertedCaller } from '#src/contract/assertion.ts';
import type { tenantMember } from '#src/contract/event.ts';
import { type OperationInput, tenantOf } from '#src/platform/http/operation.ts';
import type { Cursors } from '#src/platform/http/paging.ts';
import type { Viewer } from '../endpoints/endpoint.ts';
import type { ChangeEndpoints } from '../use-cases/change-endpoints.ts';
import type { TenantDates } from './endpoint-params.ts';

/** Kind of event -> the scope that may read it, in the order in which scopes are listed. */
export type KindScopes = Readonly<Record<string, string>>;

export type Api = {
  changes: ChangeEndpoints;
  kindScopes: KindScopes;
  /** Throws when the tenant does not exist any more. */
  datesOf(db: Kysely<unknown>, tenant: string): Promise<TenantDates>;
  cursors: Cursors;
  /** The operator's name of the plain hex header. */
  signatureHeader: string;
};

/** The viewer of a request. A client is the same owner with headers and with tokens; an API key acts for the tenant. */
export const viewerOf = (input: Pick<OperationInput<unknown>, 'caller' | typeof tenantMember>): Viewer => ({
  tenant: tenantOf(input),
  client: input.caller.kind === 'api_key' ? undefined : input.caller.id,
});

/** Kinds that the caller may read, limited to `named`. */
export const readableKinds = (
  { kindScopes }: Pick<Api, 'kindScopes'>,
  caller: AssertedCaller,
  named: readonly string[] | undefined = undefined,
): string[] =>
  Object.entries(kindScopes)
    .filter(([kind, scope]) => caller.scopes.includes(scope) && (named?.includes(kind) ?? true))
    .map(([kind]) => kind);

/** Scopes of the kinds that a request names. */
export const scopesOfKinds = (
  { kindScopes }: Pick<Api, 'kindScopes'>,
  named: readonly string[] | undefined,
): string[] => [
  ...new Set(
    Object.entries(kindScopes)
      .filter(([kind]) => named?.includes(kind))
      .map(([, scope]) => scope),
  ),
];
