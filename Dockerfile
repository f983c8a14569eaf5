FROM node:24-bookworm-slim
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm install --omit=dev
COPY src src
COPY jobs jobs
COPY migrations migrations
# The embedded Postgres writes here when DATABASE_URL is not set.
RUN mkdir .fieldmirror && chown node:node .fieldmirror
USER node
ENTRYPOINT ["node", "--max-semi-space-size=8", "src/main.ts"]
CMD ["start"]
