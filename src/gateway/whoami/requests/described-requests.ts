/** The answers of request-operations.ts as data, for the reference. */
import { z } from 'zod';
import { tenantMember } from '#src/contract/event.ts';
import { pageAnswer } from '#src/platform/http/paging.ts';

const instant = z.string().meta({ format: 'date-time' });
const count = z.int().min(0);
const { pagesize, more, next_cursor } = pageAnswer;

const end = {
  kept_days: count.meta({ id: 'KeptDays', description: 'Days that it is kept; 0: nothing is' }),
  pagesize,
  more,
  next_cursor,
};

const requestAnswer = z
  .object({
    request_id: z.string().describe('Its id'),
    at_iso: instant.describe('When it was answered, in UTC'),
    method: z.string().describe('Method of the request'),
    route: z.string().nullable().describe('Its operation; null: there is none'),
    path: z.string().nullable().describe('Path of the operation'),
    status: z.int().nullable().describe('Null: the answer was not seen'),
    code: z.string().nullable().describe('Error code'),
    duration_ms: count.describe('Time until the head of the answer'),
    [tenantMember]: z.string().nullable().describe('What it was for'),
    idempotency_key: z.string().nullable().describe('As it was sent'),
  })
  .meta({ id: 'CallerRequest', description: 'A refused or failed request, or a write' });

export const requestsAnswer = z.object({
  requests: z.array(requestAnswer).describe('Newest first'),
  ...end,
});

const dayAnswer = z
  .object({
    date: z.string().meta({ format: 'date', description: 'Day of UTC' }),
    requests: count.describe('Accepted requests'),
    units: count.describe('Units of these'),
    limited: count.describe('Refused by a limit'),
    refused_elsewhere: count.describe('Requests from addresses not allowed'),
  })
  .meta({ id: 'UsedDay', description: 'Use on one day' });

const hourAnswer = z
  .object({
    hour_iso: instant.describe('Beginning of the hour, in UTC'),
    route: z.string().nullable().describe('The operation; null: there is none'),
    reads: count.describe('Successful reads'),
    writes: count.describe('Successful writes'),
    refused: count.describe('Refused: 4xx'),
    failed: count.describe('Failed: 5xx or no answer'),
  })
  .meta({ id: 'UsedHour', description: 'Calls in one hour' });

/** `limits`, `rate`: as in the answer of whoami. */
export const usageAnswer = (limits: z.ZodType, rate: z.ZodType) =>
  z.object({
    usage: z
      .object({
        limits,
        day_units: count.describe('Units of today, UTC'),
        month_units: count.describe('Units of this month, UTC'),
        days: z.array(dayAnswer).describe('Today last'),
        rate,
      })
      .meta({ id: 'Usage', description: 'Use of this credential' }),
    hours: z.array(hourAnswer).describe('Newest first'),
    ...end,
  });
