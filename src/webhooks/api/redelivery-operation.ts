/** The state of a redelivery (interface 12.5, webhook/redeliver). */
import { z } from 'zod';
import { Fault } from '#src/contract/fault.ts';
import { operation } from '#src/platform/http/operation.ts';
import { uid } from '#src/platform/http/values.ts';
import { createFindRedelivery } from '../redeliver/find-redelivery.ts';
import { redeliveryStateOf, redeliveryStates } from '../redeliver/redelivery-store.ts';
import { type Api, viewerOf } from './api.ts';
import { countsAnswer } from './delivery-params.ts';
import { isoOrNull } from './endpoint-params.ts';

const instant = z.string().meta({ format: 'date-time' });

const redeliveryAnswer = z
  .object({
    uid: z.string().describe('Identity of the redelivery'),
    endpoint_uid: z.string().describe('The endpoint that gets the events'),
    state: z
      .enum(redeliveryStates)
      .describe(
        '`running`: events are being queued; `sending`: all are queued, some are not finished; `finished`: nothing is left to send',
      ),
    queued: z.int().min(0).describe('Events that it has queued so far'),
    counts: countsAnswer.describe('Its deliveries by state; those that a later redelivery took over are `cancelled`'),
    created_iso: instant.describe('When it began'),
    finished_iso: instant.nullable().describe('When its last delivery was finished; null until `state` is `finished`'),
  })
  .meta({ id: 'Redelivery', description: 'Recorded events that are sent again to one endpoint' });

export const redeliveryOperation = (api: Api) => {
  const findRedelivery = createFindRedelivery();
  return operation({
    method: 'GET',
    path: '/webhook/redelivery',
    summary: 'The progress of a redelivery: how much is queued, and its deliveries by state',
    errors: ['NOT_FOUND'],
    params: z.object({ uid: uid().describe('The redelivery') }),
    answer: z.object({ redelivery: redeliveryAnswer.describe('The redelivery and its progress') }),
    handle: async (input) => {
      const viewer = viewerOf(input);
      const found = await findRedelivery(input.db, viewer, input.params.uid, input.now);
      if (found === undefined) throw new Fault('NOT_FOUND', 'No such redelivery');
      const dates = await api.datesOf(input.db, viewer.tenant);
      const state = redeliveryStateOf(found);
      return {
        body: {
          redelivery: {
            uid: found.uid,
            endpoint_uid: found.endpointUid,
            state,
            queued: found.queued,
            counts: found.counts,
            created_iso: dates.iso(found.created),
            // A redelivery without deliveries ended when it began.
            finished_iso: isoOrNull(dates, state === 'finished' ? (found.lastFinished ?? found.created) : null),
          },
        },
      };
    },
  });
};
