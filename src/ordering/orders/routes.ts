/** Operations on orders (interface 11.1). */
import { z } from 'zod';
import type { AssertedCaller } from '#src/contract/assertion.ts';
import { Fault } from '#src/contract/fault.ts';
import { type Operation, type OperationInput, operation } from '#src/platform/http/operation.ts';
import type { Cursors } from '#src/platform/http/paging.ts';
import { looseText, optional, requireOneOf, text, uid } from '#src/platform/http/values.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import { toWire } from '../values/money.ts';
import type { AddressResolver, Resolved } from './address/address-resolver.ts';
import { lacksPlace } from './address/read-place.ts';
import { type ChangeResult, changeOrder } from './change-order.ts';
import { createParams } from './create-params.ts';
import { listOperation } from './list-operation.ts';
import { orderAnswer, receiptAnswer, stateAnswer } from './order/order-schema.ts';
import { findOrder, findOrderByExternalId } from './order/order-store.ts';
import { type OrderToken, withToken } from './order/order-token.ts';
import { orderView, stateView } from './order/order-view.ts';
import type { Move } from './order/transitions.ts';
import { type PlaceResult, placeOrder } from './place-order.ts';
import { faultOfRefusal } from './price/refusal.ts';
import type { SentOrder } from './price/sent-order.ts';

type Deps = {
  cursors: Cursors;
  tokenOf: OrderToken;
  /** Present when the operator has configured a geocoder. */
  resolveAddress?: AddressResolver;
};

export const orderOperations = ({ cursors, tokenOf, resolveAddress }: Deps): Operation[] => [
  listOperation(cursors, tokenOf),
  getOperation(tokenOf),
  createOperation(tokenOf, resolveAddress),
  moveOperation('confirm', tokenOf),
  moveOperation('close', tokenOf),
  moveOperation('cancel', tokenOf),
];

const getParams = requireOneOf(
  z.object({
    uid: optional(uid()).describe('The order; this or `external_id` is required'),
    external_id: optional(text({ max: 100 })).describe(
      'Id that the same client gave with order/create. Together with `uid` both must name the same order',
    ),
  }),
  ['uid', 'external_id'],
);

const getOperation = (tokenOf: OrderToken): Operation =>
  operation({
    method: 'GET',
    path: '/orders/get',
    summary: 'One order, by uid or by the external id that the same client gave',
    errors: ['NOT_FOUND'],
    params: getParams,
    answer: z.object({ order: orderAnswer }),
    hasLargeItems: true,
    handle: async ({ db, restuid, params, caller }) => {
      const restaurant = await requireRestaurant(db, restuid);
      const { uid: orderUid, external_id: externalId } = params;
      const order =
        orderUid !== undefined
          ? await findOrder(db, restuid, orderUid)
          : await findOrderByExternalId(db, restuid, caller.id, externalId ?? '');
      const fits =
        order !== undefined &&
        (externalId === undefined || (order.externalId === externalId && order.externalOwner === caller.id));
      if (!fits) throw new Fault('NOT_FOUND', 'No such order');
      return { body: { order: orderView(withToken(order, tokenOf), restaurant) } };
    },
  });

const createOperation = (tokenOf: OrderToken, resolveAddress: AddressResolver | undefined): Operation => {
  /** The check does not run when an answer can be replayed; when that receipt is gone by now, the address is unresolved. */
  const resolvedOf = (sent: SentOrder, checked: Resolved | undefined): Resolved | undefined =>
    resolveAddress === undefined || placeToResolve(sent) === undefined
      ? undefined
      : (checked ?? { kind: 'unreachable' });
  return operation({
    method: 'POST',
    path: '/order/create',
    summary: 'Inserts an order; prices are always the server’s',
    errors: [
      ['PRODUCT_NOT_FOUND', 422],
      'PRODUCT_NOT_AVAILABLE',
      'OPTION_NOT_FOUND',
      'OPTION_VALUE_NOT_FOUND',
      'INVALID_ADDRESS',
      'COUPON_ERROR',
      'SUBRESTAURANT_NOT_FOUND',
      'INSUFFICIENT_POINTS',
      'CONFLICT',
    ],
    emits: ['order.new', 'order.countdown_started', 'order.confirmed', 'customer.changed', 'loyaltylog.created'],
    // The receipt contains the token of the order.
    isSecret: () => true,
    params: createParams,
    answer: z.object({ order: receiptAnswer }),
    ...(resolveAddress && {
      check: async ({ params, signal }: OperationInput<SentOrder>): Promise<Resolved | undefined> => {
        const placeId = placeToResolve(params);
        return placeId === undefined ? undefined : resolveAddress(placeId, signal);
      },
    }),
    handle: async ({ db, restuid, params, caller, now, readNow }, checked: Resolved | undefined) => {
      const result = await placeOrder(db, {
        restuid,
        sent: params,
        clientId: caller.id,
        actor: actorOf(caller),
        now,
        readNow,
        tokenOf,
        resolved: resolvedOf(params, checked),
      });
      if (result.kind === 'placed') return { body: { order: result.receipt } };
      if (result.kind === 'repeated')
        return { body: { order: result.receipt }, headers: { 'idempotent-replayed': 'true' } };
      throw faultOfPlacing(result);
    },
  });
};

/** The place id of a home delivery whose address is incomplete without it. */
const placeToResolve = ({ dmethod, delivery }: SentOrder): string | undefined => {
  const address = dmethod === '1' ? delivery?.address : null;
  return address == null || address.place_id === null || !lacksPlace(address) ? undefined : address.place_id;
};

const faultOfPlacing = (result: Exclude<PlaceResult, { kind: 'placed' | 'repeated' }>): Fault => {
  switch (result.kind) {
    case 'refused':
      return faultOfRefusal(result);
    case 'address_unresolved':
      return new Fault('OVERLOADED', 'The address cannot be looked up right now; try again shortly', {
        headers: { 'retry-after': '5' },
      });
    case 'external_conflict':
      return new Fault('CONFLICT', 'Another order has this external_id', { extra: { order: { uid: result.uid } } });
    case 'insufficient_points': {
      const message = `at most ${toWire(result.balance)}`;
      return new Fault('INSUFFICIENT_POINTS', `The balance is ${toWire(result.balance)} points`, {
        errors: [{ pointer: 'redeem_points', code: 'INSUFFICIENT_POINTS', message }],
      });
    }
  }
};

type MoveParams = { uid: string; token: string; text?: string | null | undefined; reason?: string | null | undefined };

type SentMove = Exclude<Move, 'time_out'>;

const moveErrors = ['NOT_FOUND', 'INVALID_TOKEN', 'CONFLICT'] as const;

const describedMoves: Readonly<Record<SentMove, Pick<Operation, 'summary' | 'errors' | 'emits'>>> = {
  confirm: { summary: 'Confirms an order', errors: [...moveErrors, 'TIMEOUT'], emits: ['order.confirmed'] },
  close: { summary: 'Closes a confirmed order', errors: moveErrors, emits: ['order.closed', 'loyaltylog.created'] },
  cancel: { summary: 'Cancels an order', errors: moveErrors, emits: ['order.cancelled', 'loyaltylog.created'] },
};

const addressed = {
  uid: uid().describe('The order'),
  token: text().describe('`token` of the order'),
};

const paramsOfMove = {
  confirm: z
    .object({ ...addressed, text: looseText(500).describe('Note, kept as `confirmation.text`; absent or empty: none') })
    .meta({ id: 'ConfirmOrder', description: 'The order to confirm' }),
  close: z.object(addressed).meta({ id: 'CloseOrder', description: 'The confirmed order to close' }),
  cancel: z
    .object({
      ...addressed,
      reason: looseText(500).describe('Reason, kept as `cancellation.reason`; absent or empty: none'),
    })
    .meta({ id: 'CancelOrder', description: 'The order to cancel' }),
};

/** A client is the same actor by its secret and by a token. */
const actorOf = ({ kind, id }: AssertedCaller): string => `${kind === 'api_key' ? 'api_key' : 'api_client'}:${id}`;

const moveOperation = (move: SentMove, tokenOf: OrderToken): Operation =>
  operation({
    method: 'POST',
    path: `/order/${move}`,
    ...describedMoves[move],
    // The request contains the token of the order.
    isSecret: () => true,
    params: paramsOfMove[move],
    answer: z.object({ order: stateAnswer }),
    handle: async ({ db, restuid, params, caller, readNow }: OperationInput<MoveParams>) => {
      const restaurant = await requireRestaurant(db, restuid);
      const { uid: orderUid, token } = params;
      const result = await changeOrder(db, restaurant, {
        uid: orderUid,
        token,
        move,
        readNow,
        by: 'api',
        actor: actorOf(caller),
        text: params.text ?? null,
        reason: params.reason ?? null,
        tokenOf,
      });
      if (result.kind !== 'changed') throw faultOfChange(result, move, (order) => stateView(order, restaurant));
      return { body: { order: stateView(result.order, restaurant) } };
    },
  });

type State = Parameters<typeof stateView>[0];

const faultOfChange = (
  result: Exclude<ChangeResult, { kind: 'changed' }>,
  move: Move,
  view: (order: State) => Record<string, unknown>,
): Fault => {
  switch (result.kind) {
    case 'not_found':
      return new Fault('NOT_FOUND', 'No such order');
    case 'wrong_token':
      return new Fault('INVALID_TOKEN', 'The token does not fit this order', {
        errors: [{ pointer: 'token', code: 'INVALID_TOKEN', message: 'does not fit this order' }],
      });
    case 'refused': {
      const state = view(result.order);
      const message =
        result.code === 'TIMEOUT'
          ? `The countdown ended at ${String((state.confirmation as Record<string, unknown>).countdown_end_iso)}`
          : `A ${result.order.status} order cannot be ${pastOf[move]}`;
      return new Fault(result.code, message, { extra: { order: state } });
    }
  }
};

const pastOf: Readonly<Record<Move, string>> = {
  confirm: 'confirmed',
  close: 'closed',
  cancel: 'cancelled',
  time_out: 'timed out',
};
