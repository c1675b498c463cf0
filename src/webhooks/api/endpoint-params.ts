/** Parameters and answers of endpoints (interface 12.5). */
import { z } from 'zod';
import { tenantMember } from '#src/contract/event.ts';
import {
  boolean,
  clearable,
  integer,
  list,
  oneOf,
  optional,
  text,
  uid,
  withDefault,
} from '#src/platform/http/values.ts';
import type { WatchedEndpoint } from '../endpoints/endpoint-store.ts';
import { type EndpointChanges, isSecret, type NewEndpoint, secretRule } from '../endpoints/endpoints.ts';
import { nextTryAnswer, nextTryOfEndpoint, nextTryView } from '../log/next-try.ts';
import { signatureHeaderPattern, signatureHeaderProblem } from '../signing/signature-header-name.ts';

const signatureHeader = () =>
  clearable(
    text({ max: 64, pattern: signatureHeaderPattern, format: 'letters, digits and hyphens' }).refine(
      (name) => signatureHeaderProblem(name) === undefined,
      { message: 'is the name of another header', params: { code: 'FORMAT' } },
    ),
  );

export const givenSecret = () =>
  optional(text({ max: 200 }).refine(isSecret, { message: `must be ${secretRule}`, params: { code: 'FORMAT' } }));

export const kindsOf = (kinds: readonly string[]) => list(oneOf(kinds), { min: 1, max: kinds.length });

const settable = (kinds: readonly string[]) => ({
  kinds: optional(kindsOf(kinds)),
  description: clearable(text({ max: 200 })),
  signature_header: signatureHeader(),
  max_per_second: clearable(integer({ min: 1, max: 1000 })),
});

export const createParams = (kinds: readonly string[]) =>
  z.object({
    url: text({ max: 2048 }),
    ...settable(kinds),
    enabled: withDefault(boolean(), true),
    digest: withDefault(boolean(), false),
    secret: givenSecret(),
  });

export const updateParams = (kinds: readonly string[]) =>
  z.object({
    uid: uid(),
    url: optional(text({ max: 2048 })),
    ...settable(kinds),
    enabled: optional(boolean()),
    digest: optional(boolean()),
  });

/** The values of a new endpoint. `kinds`: those that it may receive. */
export const newEndpointOf = (
  params: z.infer<ReturnType<typeof createParams>>,
  owner: NewEndpoint['owner'],
  kinds: readonly string[],
) => ({
  owner,
  url: params.url,
  kinds,
  secret: params.secret,
  description: params.description ?? null,
  enabled: params.enabled,
  signatureHeader: params.signature_header ?? null,
  maxPerSecond: params.max_per_second ?? null,
  digest: params.digest,
});

/** The named values alone. `kinds`: undefined when none are named. */
export const endpointChangesOf = (
  params: z.infer<ReturnType<typeof updateParams>>,
  kinds: readonly string[] | undefined,
): EndpointChanges => {
  const { url, enabled, digest, description, signature_header: signatureHeader, max_per_second: maxPerSecond } = params;
  return {
    ...(url === undefined ? undefined : { url }),
    ...(enabled === undefined ? undefined : { enabled }),
    ...(digest === undefined ? undefined : { digest }),
    ...(description === undefined ? undefined : { description }),
    ...(kinds === undefined ? undefined : { kinds }),
    ...(signatureHeader === undefined ? undefined : { signatureHeader }),
    ...(maxPerSecond === undefined ? undefined : { maxPerSecond }),
  };
};

const instant = z.string().nullable();

export const endpointAnswer = z.object({
  uid: z.string(),
  [tenantMember]: z.string(),
  owner: z.object({ kind: z.enum(['api_client', 'panel']), id: z.string() }),
  url: z.string(),
  description: z.string().nullable(),
  kinds: z.array(z.string()),
  withheld_kinds: z.array(z.string()),
  enabled: z.boolean(),
  status: z.enum(['active', 'disabled']),
  disabled_reason: z.enum(['owner', 'gone', 'failing']).nullable(),
  health: z.enum(['ok', 'failing', 'warned']),
  failing_since_iso: instant,
  last_success_iso: instant,
  last_failure_iso: instant,
  ...nextTryAnswer,
  signature_header: z.string(),
  max_per_second: z.int().nullable(),
  digest: z.boolean(),
  previous_secret_expires_iso: instant,
  created: z.string(),
  created_iso: z.string(),
});

/** Formats dates in the time zone of the tenant. */
export type TenantDates = { iso(date: Date): string; legacy(date: Date): string };

export const isoOrNull = (dates: TenantDates, date: Date | null): string | null =>
  date === null ? null : dates.iso(date);

export const endpointView = (
  row: WatchedEndpoint,
  { dates, now, signatureHeader }: { dates: TenantDates; now: Date; signatureHeader: string },
): z.infer<typeof endpointAnswer> => {
  const expires = row.previousSecretExpires;
  return {
    uid: row.uid,
    [tenantMember]: row.tenant,
    owner: { kind: row.ownerKind, id: row.ownerId },
    url: row.url,
    description: row.description,
    kinds: [...row.kinds],
    withheld_kinds: row.kinds.filter((kind) => row.withheldKinds.includes(kind)),
    enabled: row.enabled,
    status: row.enabled ? 'active' : 'disabled',
    disabled_reason: row.disabledReason,
    health: row.warned !== null ? 'warned' : row.failingSince !== null ? 'failing' : 'ok',
    failing_since_iso: isoOrNull(dates, row.failingSince),
    last_success_iso: isoOrNull(dates, row.lastSuccess),
    last_failure_iso: isoOrNull(dates, row.lastFailure),
    ...nextTryView(nextTryOfEndpoint(row, now), dates.iso),
    signature_header: row.signatureHeader ?? signatureHeader,
    max_per_second: row.maxPerSecond,
    digest: row.digest,
    previous_secret_expires_iso: expires !== null && expires > now ? dates.iso(expires) : null,
    created: dates.legacy(row.created),
    created_iso: dates.iso(row.created),
  };
};
