/** A fault with a public text in the viewer's language. The texts of other faults are English. */
import { Fault } from '#src/contract/fault.ts';

export class Refusal extends Fault {
  override readonly name = 'Refusal';
}
