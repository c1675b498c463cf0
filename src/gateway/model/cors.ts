/** What scripts of other origins may do (the CORS protocol of the Fetch standard): a policy of a route or of a host. */
import { z } from 'zod';

export const anyOrigin = '*';

/** As browsers write it: lower case, without a default port and a path. Origins of apps have schemes of their own. */
const isOrigin = (text: string): boolean => {
  if (text === anyOrigin) return true;
  if (text.includes('*')) return false;
  if (/^https?:/.test(text)) return URL.canParse(text) && new URL(text).origin === text;
  return /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9.-]+(:\d{1,5})?$/.test(text);
};

const token = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
const fieldName = z
  .string()
  .refine((name) => token.test(name) && name !== '*', 'the name of a header field; * would not include Authorization');

/** Fields that callers of the gateway use. */
const headersDefault = [
  'authorization',
  'content-type',
  'dpop',
  'idempotency-key',
  'x-api-key',
  'x-api-version',
  'x-request-id',
];

const corsPolicy = z
  .strictObject({
    origins: z
      .array(z.string().refine(isOrigin, 'an origin such as https://app.example, compared exactly, or *'))
      .min(1)
      .max(200)
      .meta({ description: 'Origins whose scripts may read answers, compared exactly; `["*"]` for all' }),
    methods: z
      .array(z.string().regex(/^[A-Z]{1,20}$/, 'a method in upper case'))
      .min(1)
      .max(20)
      .optional()
      .meta({
        description:
          'Methods that scripts may use. Default: all. The gateway refuses one that the path does not have, and scripts can read the refusal',
      }),
    headers: z
      .array(fieldName)
      .max(50)
      .default(headersDefault)
      .meta({ description: 'Request fields that scripts may set' }),
    exposeHeaders: z
      .array(fieldName)
      .max(50)
      .default([])
      .meta({ description: 'Answer fields that scripts may read beside those of the gateway' }),
    credentials: z
      .boolean()
      .default(false)
      .meta({ description: 'Browsers may send cookies and client certificates; not with `*`' }),
    maxAgeSeconds: z
      .int()
      .min(0)
      .max(86_400)
      .default(600)
      .meta({ description: 'How long browsers may remember a permission' }),
  })
  .superRefine(({ origins, credentials }, context) => {
    if (!origins.includes(anyOrigin)) return;
    if (credentials)
      context.addIssue({ code: 'custom', path: ['credentials'], message: 'not with *: list the origins' });
    if (origins.length > 1)
      context.addIssue({
        code: 'custom',
        path: ['origins'],
        message: '* stands alone, since it includes every origin',
      });
  });

export type CorsPolicy = z.infer<typeof corsPolicy>;

const hostName = z
  .string()
  .regex(/^(?:\*|[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])$/, 'a host name in lower case without a port, or *');

/** Member of the route table. */
export const corsOfHosts = z
  .record(hostName, corsPolicy, {
    error: ({ code }) => (code === 'invalid_key' ? 'a host name in lower case without a port, or *' : undefined),
  })
  .default({})
  .meta({ description: 'Host name -> policy for its routes that have none of their own; `*` for every other host' });

/** Member of a route. */
export const corsOfRoute = z
  .union([z.literal(false), corsPolicy], 'false, or an object with `origins`')
  .optional()
  .meta({ description: 'What scripts of other origins may do here; false: nothing, whatever the host allows' });
