import {allTables} from '../streams/all-tables.ts';
import type {Definitions} from '../warehouse/schema/definitions.ts';
import {questions} from './questions/questions.ts';
import {renderMember} from './star/render.ts';
import {members} from './star/star.ts';

/** All that `migrate` brings a warehouse in line with: its tables, the star, and the answers that stand on it. */
export const definitions: Definitions = {
  tables: allTables,
  star: [...members, ...questions].map(renderMember),
};
