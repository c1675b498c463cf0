/** Why an order is not taken: a value that the use cases return; routes.ts makes a fault of it. */
import { Fault, type FaultCode, type FaultDetail, validationFault } from '#src/contract/fault.ts';

export type Refusal = { kind: 'refused'; details: FaultDetail[] };

const validationDetails = new Set([
  'REQUIRED',
  'RANGE',
  'FORMAT',
  'DUPLICATE',
  'NOT_ENABLED',
  'OPTION_COUNT',
  'ORDER_MIN',
  'CLOSED',
]);

export const refuse = (details: FaultDetail[]): Refusal => ({ kind: 'refused', details });

/** Faults of parameters come before those of the domain (interface 6.2); of the latter the first names the answer. */
export const faultOfRefusal = ({ details }: Refusal): Fault => {
  const parameters = details.filter(({ code }) => validationDetails.has(code));
  if (parameters.length > 0) return validationFault(parameters);
  const [first] = details;
  if (first === undefined) throw new Error('a refusal without a reason');
  return new Fault(first.code as FaultCode, first.message, { status: 422, errors: details });
};
