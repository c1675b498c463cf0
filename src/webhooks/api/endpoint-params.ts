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
import { isSecret, type NewEndpoint, secretRule } from '../endpoints/endpoints.ts';
import { nextTryAnswer, nextTryOfEndpoint, nextTryView } from '../log/next-try.ts';
import { signatureSchemes } from '../signing/message-signature.ts';
import { signatureHeaderPattern, signatureHeaderProblem } from '../signing/signature-header-name.ts';
import type { WantedChanges } from '../use-cases/change-endpoints.ts';
import { authAnswer, authParam, authView } from './auth-params.ts';

const signatureHeader = () =>
  clearable(
    text({ max: 64, pattern: signatureHeaderPattern, format: 'letters, digits and hyphens' }).refine(
      (name) => signatureHeaderProblem(name) === undefined,
      { message: 'is the name of another header', params: { code: 'FORMAT' } },
    ),
  );

export const givenSecret = () =>
  optional(
    text({ max: 200 }).refine(isSecret, { message: `must be ${secretRule}`, params: { code: 'FORMAT' } }),
  ).describe(`Secret that signs its events: ${secretRule}. When absent, one is made`);

const targetText =
  'Where events are sent: an https address without credentials and fragment, whose host has public addresses only. The operator may allow http and private addresses';
const digestText = 'True: it also gets `webhook.digest`, each hour';

export const kindsOf = (kinds: readonly string[]) => list(oneOf(kinds), { min: 1, max: kinds.length });

const settable = {
  description: clearable(text({ max: 200 })).describe('Text of its owner, for people; null for none'),
  signature_header: signatureHeader().describe(
    'Name of the header with the hexadecimal signature of the body; null for the name that the operator has set',
  ),
  signature: clearable(oneOf(signatureSchemes)).describe('Message signature'),
  max_per_second: clearable(integer({ min: 1, max: 1000 })).describe(
    'Attempts in one second, at most; null for no bound',
  ),
  auth: authParam(),
};

const v1aText = 'True: `webhook-signature` has the Ed25519 signature `v1a` beside `v1`';

export const createParams = (kinds: readonly string[]) =>
  z
    .object({
      url: text({ max: 2048 }).describe(targetText),
      kinds: optional(kindsOf(kinds)).describe(
        'Kinds of events that it receives; the read scope of each is needed. When absent, all that the credential may read',
      ),
      ...settable,
      enabled: withDefault(boolean(), true).describe('False: nothing is sent until it is enabled'),
      v1a: optional(boolean()).describe(`${v1aText}. When absent, true without \`signature\` and false with it`),
      digest: withDefault(boolean(), false).describe(digestText),
      secret: givenSecret(),
    })
    .meta({ id: 'NewEndpoint', description: 'An endpoint to make' });

export const updateParams = (kinds: readonly string[]) =>
  z
    .object({
      uid: uid().describe('The endpoint to change'),
      url: optional(text({ max: 2048 })).describe(targetText),
      kinds: optional(kindsOf(kinds)).describe(
        'Kinds of events that it receives, in place of the former ones; the read scope of each is needed',
      ),
      ...settable,
      enabled: optional(boolean()).describe(
        'True enables it again and forgets its failures; false disables it and cancels what is still to be sent',
      ),
      v1a: optional(boolean()).describe(v1aText),
      digest: optional(boolean()).describe(digestText),
    })
    .meta({ id: 'EndpointChange', description: 'Changes of an endpoint; members that are absent stay as they are' });

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
  signature: params.signature ?? null,
  v1a: params.v1a,
  maxPerSecond: params.max_per_second ?? null,
  digest: params.digest,
  auth: params.auth ?? null,
});

/** The named values alone. `kinds`: undefined when none are named. */
export const endpointChangesOf = (
  params: z.infer<ReturnType<typeof updateParams>>,
  kinds: readonly string[] | undefined,
): WantedChanges => {
  const { url, enabled, digest, description, signature, v1a, auth } = params;
  const { signature_header: signatureHeader, max_per_second: maxPerSecond } = params;
  return {
    ...(url === undefined ? undefined : { url }),
    ...(enabled === undefined ? undefined : { enabled }),
    ...(digest === undefined ? undefined : { digest }),
    ...(description === undefined ? undefined : { description }),
    ...(kinds === undefined ? undefined : { kinds }),
    ...(signatureHeader === undefined ? undefined : { signatureHeader }),
    ...(signature === undefined ? undefined : { signature }),
    ...(v1a === undefined ? undefined : { v1a }),
    ...(auth === undefined ? undefined : { auth }),
    ...(maxPerSecond === undefined ? undefined : { maxPerSecond }),
  };
};

const instant = z.string().meta({ format: 'date-time' });

export const endpointAnswer = z
  .object({
    uid: z.string().describe('Identity of the endpoint'),
    [tenantMember]: z.string().describe('The tenant whose events it receives'),
    owner: z
      .object({
        kind: z.enum(['api_client', 'panel']).describe('`panel`: it was made in the panel'),
        id: z.string().describe('Id of the API client; a fixed word when `kind` is `panel`'),
      })
      .meta({ id: 'EndpointOwner', description: 'Who made an endpoint' })
      .describe('Who made it. What an API client may not read any more is not sent to its endpoints'),
    url: z.string().describe('Where events are sent'),
    description: z.string().nullable().describe('Text of its owner, for people; null when there is none'),
    kinds: z.array(z.string()).describe('Kinds of events that it receives'),
    withheld_kinds: z
      .array(z.string())
      .describe('Those of `kinds` that are not sent, because its owner may not read them now'),
    enabled: z.boolean().describe('False: nothing is sent'),
    status: z.enum(['active', 'disabled']).describe('`active` when `enabled` is true'),
    disabled_reason: z
      .enum(['owner', 'gone', 'failing'])
      .nullable()
      .describe(
        '`owner`: it was switched off; `gone`: the receiver answered 410; `failing`: no attempt succeeded for five days. Null while it is enabled',
      ),
    health: z
      .enum(['ok', 'failing', 'warned'])
      .describe(
        '`ok`: no attempt has failed since the last success; `failing`: attempts fail; `warned`: they fail for so long that the owner was warned',
      ),
    failing_since_iso: instant.nullable().describe('First failure after the last success; null while `health` is `ok`'),
    last_success_iso: instant.nullable().describe('The last attempt that succeeded; null when none did'),
    last_failure_iso: instant.nullable().describe('The last attempt that failed; null when none did'),
    ...nextTryAnswer,
    signature_header: z.string().describe('Name of the header with the hexadecimal signature of the body'),
    signature: z.enum(signatureSchemes).nullable().describe('Message signature'),
    v1a: z.boolean().describe(v1aText),
    max_per_second: z.int().nullable().describe('Attempts in one second, at most; null when there is no bound'),
    digest: z.boolean().describe(digestText),
    auth: authAnswer,
    previous_secret_expires_iso: instant
      .nullable()
      .describe('Until then the secret before the last rotation signs as well; null when none does'),
    created: z.string().describe('`created_iso` as a legacy date'),
    created_iso: instant.describe('When it was made'),
  })
  .meta({ id: 'Endpoint', description: 'Address of a receiver of events, with its settings and its health' });

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
    signature: row.signature,
    v1a: row.v1a,
    max_per_second: row.maxPerSecond,
    digest: row.digest,
    auth: authView(row.authShown, dates.iso),
    previous_secret_expires_iso: expires !== null && expires > now ? dates.iso(expires) : null,
    created: dates.legacy(row.created),
    created_iso: dates.iso(row.created),
  };
};
