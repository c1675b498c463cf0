/** The reasons why an order is refused: a value that the use cases return. routes.ts turns it into a fault. */
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

/** Faults of parameters come first (interface 6.2). Among the others the first one decides the code of the answer. */
export const faultOfRefusal = ({ details }: Refusal): Fault => {
  const parameters = details.filter(({ code }) => validationDetails.has(code));
  if (parameters.length > 0) return validationFault(parameters);
  const [first] = details;
  if (first === undefined) throw new Error('a refusal needs at least one fault');
  return new Fault(first.code as FaultCode, first.message, { status: 422, errors: details });
};
