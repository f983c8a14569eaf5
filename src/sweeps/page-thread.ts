// The other end of PageReader.

import {parentPort} from 'node:worker_threads';
import {buffersOf} from './packed-rows.ts';
import type {PageAnswer} from './page-reader.ts';
import {type PageTask, readPage} from './read-page.ts';

parentPort?.on('message', ({id, task}: {readonly id: number; readonly task: OwnedTask}) => {
  const answered = {...answer(id, task), body: task.body};
  parentPort?.postMessage(answered, [...buffersOf(answered.content?.rows), task.body.buffer]);
});

/** The thread has the body for itself, until it gives it back. */
type OwnedTask = PageTask & Pick<PageAnswer, 'body'>;

function answer(id: number, task: PageTask): Omit<PageAnswer, 'body'> {
  try {
    return {id, content: readPage(task)};
  } catch (error) {
    const {name, message} = error instanceof Error ? error : new Error(String(error));
    return {id, failure: {name, message}};
  }
}
