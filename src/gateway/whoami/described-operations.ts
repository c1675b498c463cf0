/** The operations of answer-self.ts as data, for the reference. */
import { z } from 'zod';
import { tenantMember } from '#src/contract/event.ts';
import type { FaultCode } from '#src/contract/fault.ts';
import type { TenantWords } from '../model/route.ts';
import { denialReasons } from '../model/traced-fault.ts';
import { requestsAnswer, usageAnswer } from './requests/described-requests.ts';
import { requestParams, usageParams } from './requests/request-operations.ts';

export type DescribedSelfOperation = {
  /** Of its route. */
  id: string;
  summary: string;
  /** Errors beside those that every operation can give. */
  errors: readonly FaultCode[];
  params?: z.ZodType;
  answer: z.ZodObject;
};

export const describedSelfOperations = (words: TenantWords): DescribedSelfOperation[] => [
  {
    id: 'whoami',
    summary: 'What the presented credential is, may do and has left',
    errors: [],
    answer: z.object({
      credential: credentialOf(words).describe('The credential of this request'),
      rate: rates,
    }),
  },
  {
    id: 'whoami.requests',
    summary: 'Own refused and failed requests, and own writes',
    errors: [],
    params: requestParams,
    answer: requestsAnswer,
  },
  {
    id: 'whoami.usage',
    summary: 'Use of own limits, and calls by hour',
    errors: [],
    params: usageParams,
    answer: usageAnswer(limitsAnswer.describe('Its own limits'), rates),
  },
  {
    id: 'whoami.denial',
    summary: 'Why a request of this credential was refused, by the request id of the refusal',
    errors: ['NOT_FOUND'],
    answer: z.object({
      denial: denialAnswer.describe('The refusal; the newest one when several have this request id'),
    }),
  },
];

const instant = z.string().meta({ format: 'date-time' });
const limit = z.int().min(1).nullable();
const addresses = z.array(z.string());

const rateAnswer = z
  .object({
    policy: z.string().describe('Name of the limit, such as `minute`, `burst` or `day`'),
    quota: z.int().describe('Units in one window'),
    window_seconds: z.int().describe('Length of a window, in seconds'),
    remaining: z.int().describe('Units that are left in this window, after this request'),
    reset_seconds: z.int().describe('Seconds until this window ends'),
  })
  .meta({ id: 'RateLimitState', description: 'One limit of requests and what is left of it' });

const rates = z
  .array(rateAnswer)
  .describe('The limits with a window that this request met, as in the RateLimit fields of this answer');

const limitsAnswer = z
  .object({
    minute: limit.describe('Units in 60 seconds; null: the default of the gateway'),
    burst: limit.describe('Units in one second; null: the default of the gateway'),
    day: limit.describe('Units in a day of UTC; null: no bound'),
    month: limit.describe('Units in a month of UTC; null: no bound'),
    concurrency: limit.describe('Requests at the same time; null: no bound'),
  })
  .meta({ id: 'CredentialLimits', description: 'Limits that support has set for this key or client' });

const elsewhereAnswer = z
  .object({
    calls: z.int().min(1).describe('Refused calls in the last 30 days'),
    last_iso: instant.describe('The last one, in UTC'),
    last_address: z.string().describe('Address from which the last one came'),
  })
  .meta({
    id: 'CallsFromElsewhere',
    description: 'Calls from addresses that the list of the credential does not have',
  });

const narrowedAnswer = z
  .object({
    authorization_details: z.array(z.record(z.string(), z.unknown())).nullable().describe('As in RFC 9396'),
    resource: z.array(z.string()).nullable().describe('Services that it is for; null: all'),
    ancestors: z.array(z.string()).describe('Ids of the tokens that it was exchanged from, parent first'),
  })
  .meta({ id: 'NarrowedToken', description: 'Limits of an access token beside its scopes' });

const tenantOf = ({ facts }: TenantWords) =>
  z
    .object({
      uid: z.string().describe(`What a request names in \`${tenantMember}\``),
      ...Object.fromEntries(
        facts.map((name) => [
          name,
          z
            .string()
            .nullable()
            .describe(
              `Its ${name.replaceAll('_', ' ')}, as the service behind the gateway states it; null when it has none`,
            ),
        ]),
      ),
      api_enabled: z.boolean().describe('False: API access is switched off, and requests for it are refused'),
    })
    .meta({ id: 'ReachedTenant', description: 'What a credential may be used for' });

const credentialOf = (words: TenantWords) =>
  z
    .object({
      kind: z
        .enum(['api_key', 'api_client', 'bearer'])
        .describe('`api_key`: an API key; `api_client`: client id and secret as headers; `bearer`: an access token'),
      id: z.string().describe('Id of the key, or of the client'),
      name: z.string().nullable().describe('Name that the key or client was given; null when it is not known'),
      sandbox: z.boolean().describe('True: for sandboxes only'),
      scopes: z.array(z.string()).describe('What this credential may do'),
      [words.list]: z.array(tenantOf(words)).describe('What it may be used for: the first 100, sorted by uid'),
      [`${words.list}_count`]: z.int().min(0).describe('How many there are, beyond the first 100 too'),
      issued_iso: instant
        .nullable()
        .describe('When the key, secret or token was issued, in UTC; null when it is not known'),
      expires_iso: instant
        .nullable()
        .describe('When the key or token ends, in UTC; null for a secret or without an end'),
      retiring_iso: instant
        .nullable()
        .describe('When the presented secret ends because another one replaces it, in UTC; null when it does not end'),
      limits: limitsAnswer.describe('Its own limits'),
      allow_ip: addresses
        .nullable()
        .describe('Addresses and networks from which it may be used; null: it may be used from everywhere'),
      narrowed: narrowedAnswer.nullable().describe('Of a narrowed token; otherwise null'),
      refused_elsewhere: elsewhereAnswer
        .nullable()
        .describe('Calls from other addresses in the last 30 days; null when there were none'),
    })
    .meta({ id: 'Credential', description: 'A credential, as its holder may see it' });

const denialErrorAnswer = z
  .object({
    pointer: z.string().describe('JSON pointer in nested bodies, else the name of the parameter or header'),
    code: z.string().describe('What was wrong with the value'),
    message: z.string().describe('The same in a sentence, at most 300 characters'),
  })
  .meta({ id: 'DenialError', description: 'One value of a refused request that was not valid' });

const denialAnswer = z
  .object({
    request_id: z.string().describe('Id of the refused request, as in its header X-Request-Id'),
    at_iso: instant.describe('When it was refused, in UTC'),
    method: z.string().describe('Method of the request'),
    path: z.string().describe('Path of the request without its query, at most 256 characters'),
    status: z.literal([400, 401, 403, 429]).describe('Status of the refusal, before any translation to old statuses'),
    code: z.string().describe('Error code of the refusal; a service behind the gateway may use its own codes'),
    reason: z.enum(denialReasons).describe('Why it was refused, more exactly than `code` says'),
    missing_scopes: z.array(z.string()).describe('Scopes that were missing; empty when none were'),
    detail: z.record(z.string(), z.unknown()).meta({
      id: 'DenialDetail',
      description:
        'Facts about the reason, such as `expired_iso`, `expired_seconds_ago`, `retry_after` (seconds) or `address`; empty when there are none',
    }),
    hint: z.string().describe('What to do, in a sentence for people'),
    errors: z
      .array(denialErrorAnswer)
      .max(20)
      .describe('Values that were not valid; empty when values were not the reason'),
  })
  .meta({ id: 'Denial', description: 'The refusal of a request, kept for 7 days for the holder of the credential' });
