/** The operations of answer-self.ts as data, for the reference. */
import { z } from 'zod';
import type { FaultCode } from '#src/contract/fault.ts';
import type { TenantWords } from '../model/route.ts';

export type DescribedSelfOperation = {
  /** Of its route. */
  id: string;
  summary: string;
  /** Errors beside those that every operation can give. */
  errors: readonly FaultCode[];
  answer: z.ZodObject;
};

const isoOrNull = z.string().nullable();

export const describedSelfOperations = ({ list, facts }: TenantWords): DescribedSelfOperation[] => [
  {
    id: 'whoami',
    summary: 'What the presented credential is, may do and has left',
    errors: [],
    answer: z.object({
      credential: z.object({
        kind: z.enum(['api_key', 'api_client', 'bearer']),
        id: z.string(),
        name: z.string().nullable(),
        scopes: z.array(z.string()),
        [list]: z.array(
          z.object({
            uid: z.string(),
            ...Object.fromEntries(facts.map((name) => [name, z.string().nullable()])),
            api_enabled: z.boolean(),
          }),
        ),
        [`${list}_count`]: z.int(),
        issued_iso: isoOrNull,
        expires_iso: isoOrNull,
        retiring_iso: isoOrNull,
        limits: z.object({
          minute: z.int().nullable(),
          burst: z.int().nullable(),
          day: z.int().nullable(),
          month: z.int().nullable(),
          concurrency: z.int().nullable(),
        }),
        allow_ip: z.array(z.string()).nullable(),
        refused_elsewhere: z.object({ calls: z.int(), last_iso: z.string(), last_address: z.string() }).nullable(),
      }),
      rate: z.array(
        z.object({
          policy: z.string(),
          quota: z.int(),
          window_seconds: z.int(),
          remaining: z.int(),
          reset_seconds: z.int(),
        }),
      ),
    }),
  },
  {
    id: 'whoami.denial',
    summary: 'Why a request of this credential was refused, by the request id of the refusal',
    errors: ['NOT_FOUND'],
    answer: z.object({
      denial: z.object({
        request_id: z.string(),
        at_iso: z.string(),
        method: z.string(),
        path: z.string(),
        status: z.int(),
        code: z.string(),
        reason: z.string(),
        missing_scopes: z.array(z.string()),
        detail: z.record(z.string(), z.unknown()),
        hint: z.string(),
        errors: z.array(z.object({ pointer: z.string(), code: z.string(), message: z.string() })),
      }),
    }),
  },
];
