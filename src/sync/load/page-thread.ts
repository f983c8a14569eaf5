// The other end of PageReader.

import {parentPort} from 'node:worker_threads';
import {freeBytes} from '../../base/memory/free-bytes.ts';
import {buffersOf} from './packed-rows.ts';
import type {PageAnswer} from './page-reader.ts';
import {type PageTask, readPage} from './read-page.ts';

parentPort?.on('message', ({id, task}: {readonly id: number; readonly task: PageTask}) => {
  const answered = answer(id, task);
  parentPort?.postMessage(answered, buffersOf(answered.content?.rows));
});

function answer(id: number, task: PageTask): PageAnswer {
  try {
    return {id, content: readPage(task)};
  } catch (error) {
    const {name, message} = error instanceof Error ? error : new Error(String(error));
    return {id, failure: {name, message}};
  } finally {
    freeBytes(task.body);
  }
}
