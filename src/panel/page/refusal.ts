/** What a page refuses itself, in the words of its viewer; other faults speak English. */
import { Fault } from '#src/contract/fault.ts';

export class Refusal extends Fault {
  override readonly name = 'Refusal';
}
